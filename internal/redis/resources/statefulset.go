package resources

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/desired"
	"github.com/holdfast-dev/holdfast/internal/naming"
)

// StatefulSet of the members. Its Replicas are the spec's; scaling in needs the operator to free the
// members first, so the caller may set a higher number until that is done.
func StatefulSet(in Input) (*appsv1.StatefulSet, error) {
	template, err := podTemplate(in)
	if err != nil {
		return nil, fmt.Errorf("build pod template: %w", err)
	}
	c := in.Cluster
	return desired.StatefulSet(Identity(c), desired.StatefulSetInput{
		Name:        naming.StatefulSet(c.Name),
		ServiceName: naming.HeadlessService(c.Name),
		Replicas:    c.Spec.Replicas,
		Template:    template,
		Claim:       claim(c),
	}), nil
}

func claim(c *v1.RedisCluster) *desired.Claim {
	if c.Spec.Storage.Ephemeral || c.Spec.Storage.Size == nil {
		return nil
	}
	retention := appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	if c.Spec.Storage.Retention == v1.RetentionDelete {
		retention = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	}
	return &desired.Claim{
		Name:             naming.VolumeData,
		Size:             *c.Spec.Storage.Size,
		StorageClassName: c.Spec.Storage.StorageClassName,
		Retention:        retention,
	}
}

func podTemplate(in Input) (corev1.PodTemplateSpec, error) {
	c := in.Cluster
	parts, err := Parts(in)
	if err != nil {
		return corev1.PodTemplateSpec{}, err
	}
	record, err := parts.Encode()
	if err != nil {
		return corev1.PodTemplateSpec{}, err
	}
	metadata, err := PodMetadata(c)
	if err != nil {
		return corev1.PodTemplateSpec{}, err
	}
	spec, err := podSpec(in)
	if err != nil {
		return corev1.PodTemplateSpec{}, err
	}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels: naming.With(naming.MemberLabels(c.Name, EngineName(c), naming.PartOfRedis), metadata.Labels),
			Annotations: naming.With(map[string]string{
				naming.AnnotationRestartParts: record,
				naming.AnnotationMetadataKeys: metadata.Keys,
			}, metadata.Annotations),
		},
		Spec: spec,
	}, nil
}

func podSpec(in Input) (corev1.PodSpec, error) {
	c := in.Cluster
	image, err := ServerImage(c, in.Images)
	if err != nil {
		return corev1.PodSpec{}, err
	}
	no, grace := false, gracePeriodSeconds
	s := c.Spec.Scheduling.DeepCopy()
	return corev1.PodSpec{
		InitContainers: []corev1.Container{installer(in.AgentImage)},
		Containers:     []corev1.Container{server(c, image)},
		Volumes:        volumes(c),
		// The pod has no business with the API server.
		AutomountServiceAccountToken:  &no,
		EnableServiceLinks:            &no,
		SecurityContext:               desired.PodSecurity(naming.RunAsID),
		TerminationGracePeriodSeconds: &grace,
		Affinity:                      s.Affinity,
		NodeSelector:                  s.NodeSelector,
		Tolerations:                   s.Tolerations,
		PriorityClassName:             s.PriorityClassName,
		TopologySpreadConstraints:     desired.Spread(Identity(c), s.TopologySpreadConstraints),
	}, nil
}
