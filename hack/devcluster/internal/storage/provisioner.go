package storage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/network"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/node"
)

// ProvisionerName is the provisioner of the default StorageClass.
const ProvisionerName = "devcluster.holdfast.dev/node-disk"

// everyone may write: with a directory of the host the kubelet cannot give the
// volume to the pod's group.
const everyone = 0o777

// Provisioner makes and removes volumes on the disks of nodes.
type Provisioner struct {
	// Disk is the directory of a node's disk.
	Disk func(node string) string
}

// Run provisions volumes until the context ends.
func (p Provisioner) Run(ctx context.Context, client kubernetes.Interface) {
	ctx = klog.NewContext(ctx, logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, nil)))
	provision := controller.NewProvisionController(ctx, client, ProvisionerName, p, controller.LeaderElection(false))
	provision.Run(ctx)
}

// Provision makes the directory of a volume.
func (p Provisioner) Provision(_ context.Context, options controller.ProvisionOptions) (*core.PersistentVolume, controller.ProvisioningState, error) {
	if options.SelectedNodeName == "" {
		return nil, controller.ProvisioningFinished, errors.New("no node is selected: the StorageClass must wait for the first consumer")
	}
	dir, err := p.directory(options.SelectedNodeName, options.PVName)
	if err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	if err := os.MkdirAll(dir, everyone); err != nil {
		return nil, controller.ProvisioningFinished, fmt.Errorf("make volume %s: %w", options.PVName, err)
	}
	// The umask may have taken something away.
	if err := os.Chmod(dir, everyone); err != nil {
		return nil, controller.ProvisioningFinished, fmt.Errorf("open volume %s to everyone: %w", options.PVName, err)
	}
	return volume(options), controller.ProvisioningFinished, nil
}

// Delete removes the directory of a volume.
func (p Provisioner) Delete(_ context.Context, pv *core.PersistentVolume) error {
	dir, err := p.directory(nodeOf(pv), pv.Name)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove volume %s: %w", pv.Name, err)
	}
	return nil
}

// directory is where a volume lies on the host.
func (p Provisioner) directory(nodeName, volumeName string) (string, error) {
	if _, err := network.NodeIndex(nodeName); err != nil {
		return "", fmt.Errorf("volume %s: %w", volumeName, err)
	}
	if volumeName == "" || filepath.Base(volumeName) != volumeName || volumeName[0] == '.' {
		return "", fmt.Errorf("%q is not the name of a volume", volumeName)
	}
	return filepath.Join(node.HostVolumes(p.Disk(nodeName)), volumeName), nil
}

func volume(options controller.ProvisionOptions) *core.PersistentVolume {
	mode := core.PersistentVolumeFilesystem
	return &core.PersistentVolume{
		ObjectMeta: meta.ObjectMeta{Name: options.PVName},
		Spec: core.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy,
			AccessModes:                   options.PVC.Spec.AccessModes,
			Capacity: core.ResourceList{
				core.ResourceStorage: options.PVC.Spec.Resources.Requests[core.ResourceStorage],
			},
			VolumeMode: &mode,
			PersistentVolumeSource: core.PersistentVolumeSource{
				Local: &core.LocalVolumeSource{Path: filepath.Join(node.VolumesDir, options.PVName)},
			},
			NodeAffinity: &core.VolumeNodeAffinity{Required: &core.NodeSelector{
				NodeSelectorTerms: []core.NodeSelectorTerm{{
					MatchExpressions: []core.NodeSelectorRequirement{{
						Key: core.LabelHostname, Operator: core.NodeSelectorOpIn, Values: []string{options.SelectedNodeName},
					}},
				}},
			}},
		},
	}
}

// nodeOf reads back what volume wrote.
func nodeOf(pv *core.PersistentVolume) string {
	affinity := pv.Spec.NodeAffinity
	if affinity == nil || affinity.Required == nil {
		return ""
	}
	for _, term := range affinity.Required.NodeSelectorTerms {
		for _, expression := range term.MatchExpressions {
			if expression.Key == core.LabelHostname && len(expression.Values) == 1 {
				return expression.Values[0]
			}
		}
	}
	return ""
}
