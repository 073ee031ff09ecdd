package storage

import (
	"os"
	"path/filepath"
	"testing"

	core "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

func options(node, name string) controller.ProvisionOptions {
	reclaim := core.PersistentVolumeReclaimDelete
	claim := &core.PersistentVolumeClaim{}
	claim.Spec.AccessModes = []core.PersistentVolumeAccessMode{core.ReadWriteOnce}
	claim.Spec.Resources.Requests = core.ResourceList{core.ResourceStorage: resource.MustParse("1Gi")}
	return controller.ProvisionOptions{
		StorageClass: &storage.StorageClass{ReclaimPolicy: &reclaim}, PVName: name, PVC: claim, SelectedNodeName: node,
	}
}

func TestAVolumeLivesAndDiesWithItsClaim(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	p := Provisioner{Disk: func(node string) string { return filepath.Join(root, node) }}
	pv, state, err := p.Provision(t.Context(), options("n2", "pvc-1"))
	if err != nil || state != controller.ProvisioningFinished {
		t.Fatalf("%v, %v", state, err)
	}
	dirs, err := filepath.Glob(filepath.Join(root, "n2", "lib", "*", "pvc-1"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("the volume is at %v, %v", dirs, err)
	}
	info, err := os.Stat(dirs[0])
	if err != nil || info.Mode().Perm() != everyone {
		t.Errorf("a pod that is not root cannot write: %v, %v", info.Mode(), err)
	}
	if nodeOf(pv) != "n2" {
		t.Errorf("the volume belongs to %q", nodeOf(pv))
	}
	if size := pv.Spec.Capacity[core.ResourceStorage]; size.String() != "1Gi" {
		t.Errorf("the volume's size is %s", size.String())
	}
	if pv.Spec.PersistentVolumeReclaimPolicy != core.PersistentVolumeReclaimDelete {
		t.Errorf("the volume's policy is %s", pv.Spec.PersistentVolumeReclaimPolicy)
	}
	if err := os.WriteFile(filepath.Join(dirs[0], "data"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is nothing left to remove
		if err := p.Delete(t.Context(), pv); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(dirs[0]); !os.IsNotExist(err) {
		t.Errorf("the volume is still there: %v", err)
	}
}

func TestNothingOutsideANodesVolumesIsTouched(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	p := Provisioner{Disk: func(node string) string { return filepath.Join(root, node) }}
	for sentence, o := range map[string]controller.ProvisionOptions{
		"no node":                 options("", "pvc-1"),
		"a node that is a path":   options("../n1", "pvc-1"),
		"a volume that is a path": options("n1", "../../x"),
		"a volume without a name": options("n1", ""),
		"a hidden volume":         options("n1", ".."),
	} {
		if _, _, err := p.Provision(t.Context(), o); err == nil {
			t.Errorf("%s: a volume was made", sentence)
		}
		pv := volume(o)
		pv.ObjectMeta = meta.ObjectMeta{Name: o.PVName}
		if err := p.Delete(t.Context(), pv); err == nil {
			t.Errorf("%s: something was deleted", sentence)
		}
	}
	if entries, err := os.ReadDir(root); err != nil || len(entries) != 0 {
		t.Errorf("something was made: %v, %v", entries, err)
	}
}
