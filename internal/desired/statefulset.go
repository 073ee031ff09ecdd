package desired

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/naming"
)

// revisionHistoryLimit keeps a few old templates for people who look back; nothing reads them.
const revisionHistoryLimit = 3

// StatefulSetInput is what differs between the StatefulSets of clusters.
type StatefulSetInput struct {
	Name string
	// ServiceName of the headless Service.
	ServiceName string
	Replicas    int32
	Template    corev1.PodTemplateSpec
	// Claim of each member's data volume; nil for members without one.
	Claim *Claim
}

// Claim describes the volume of each member.
type Claim struct {
	Name             string
	Size             resource.Quantity
	StorageClassName *string
	// Retention when the cluster is deleted or scaled in.
	Retention appsv1.PersistentVolumeClaimRetentionPolicyType
}

// StatefulSet starts all members at once and restarts none by itself: the operator alone
// decides which pod goes when, since only it knows the roles.
func StatefulSet(id Identity, in StatefulSetInput) *appsv1.StatefulSet {
	history := int32(revisionHistoryLimit)
	replicas := in.Replicas
	set := &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: id.meta(in.Name),
		Spec: appsv1.StatefulSetSpec{
			Replicas:             &replicas,
			ServiceName:          in.ServiceName,
			Selector:             id.podSelector(),
			PodManagementPolicy:  appsv1.ParallelPodManagement,
			UpdateStrategy:       appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
			RevisionHistoryLimit: &history,
			Template:             in.Template,
		},
	}
	if in.Claim != nil {
		set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claimTemplate(id, *in.Claim)}
		set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenDeleted: in.Claim.Retention,
			WhenScaled:  in.Claim.Retention,
		}
	}
	return set
}

func claimTemplate(id Identity, c Claim) corev1.PersistentVolumeClaim {
	filesystem := corev1.PersistentVolumeFilesystem
	// A claim template can never change, so it carries nothing that another version may label differently.
	labels := maps.Clone(id.Selector)
	labels[naming.LabelManagedBy] = naming.ManagedBy
	return corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: c.Name, Labels: labels},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName: c.StorageClassName,
			VolumeMode:       &filesystem,
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: c.Size.DeepCopy()},
			},
		},
		// The API server fills this in; see the package comment.
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
	}
}
