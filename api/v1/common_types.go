package v1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RetentionPolicy says what becomes of a volume when its member or its cluster is deleted.
// +kubebuilder:validation:Enum=Retain;Delete
type RetentionPolicy string

const (
	// RetentionRetain keeps the volumes; a cluster made again under the same name takes them up.
	RetentionRetain RetentionPolicy = "Retain"
	// RetentionDelete removes the volumes together with the member or the cluster.
	RetentionDelete RetentionPolicy = "Delete"
)

// StorageSpec describes where a member keeps its data.
// +kubebuilder:validation:XValidation:rule="has(self.ephemeral) && self.ephemeral ? !has(self.size) && !has(self.storageClassName) : has(self.size)",message="set size for a volume per member, or ephemeral: true for none (then size and storageClassName must be absent)"
type StorageSpec struct {
	// Size of each member's volume, for example 10Gi.
	// +optional
	Size *resource.Quantity `json:"size,omitempty"`
	// StorageClassName of the volumes; the cluster's default class when absent.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	StorageClassName *string `json:"storageClassName,omitempty"`
	// Retention says what becomes of the volumes when the cluster is deleted or scaled in.
	// +optional
	// +kubebuilder:default=Retain
	Retention RetentionPolicy `json:"retention,omitempty"`
	// Ephemeral members keep their data only as long as their pod lives. A member that
	// comes back empty never becomes primary while another member has data.
	// +optional
	Ephemeral bool `json:"ephemeral,omitempty"`
}

// AuthSpec names the Secret with the password of the application user.
type AuthSpec struct {
	// SecretName of a Secret in the same namespace with the key password. Absent: the
	// operator generates <name>-auth. Changing the password in the Secret changes it in the
	// database without a failed client operation: both passwords are accepted for the grace period.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName,omitempty"`
	// OldPasswordGracePeriod is how long the previous password stays valid after a change,
	// counted from the moment when every member accepts the new one. Between 0s and 24h.
	// +optional
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('24h')",message="oldPasswordGracePeriod must lie between 0s and 24h"
	OldPasswordGracePeriod *metav1.Duration `json:"oldPasswordGracePeriod,omitempty"`
}

// SchedulingSpec is what a user may say about where members run. Members of a cluster
// spread over nodes and zones when nothing is said.
type SchedulingSpec struct {
	// Affinity of the pods, as in a pod spec.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// NodeSelector of the pods, as in a pod spec.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Tolerations of the pods, as in a pod spec.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// TopologySpreadConstraints replace the operator's own (soft spread over nodes and zones).
	// A constraint without labelSelector gets the cluster's.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
	// PriorityClassName of the pods, as in a pod spec.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`
}

// PodMetadata is added to the pods of a cluster.
type PodMetadata struct {
	// Labels added to the pods; keys of the operator and of app.kubernetes.io are refused.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('db.holdfast.dev/') && !k.startsWith('app.kubernetes.io/') && k != 'controller-revision-hash')",message="labels with the prefix db.holdfast.dev/ or app.kubernetes.io/ belong to the operator: choose another key"
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations added to the pods; keys of the operator are refused.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('db.holdfast.dev/'))",message="annotations with the prefix db.holdfast.dev/ belong to the operator: choose another key"
	Annotations map[string]string `json:"annotations,omitempty"`
}

// ServiceSpec shapes the primary and the replica Service.
type ServiceSpec struct {
	// Type of both Services.
	// +optional
	// +kubebuilder:default=ClusterIP
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	Type corev1.ServiceType `json:"type,omitempty"`
	// Annotations of both Services, for example for a cloud's load balancer.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('db.holdfast.dev/'))",message="annotations with the prefix db.holdfast.dev/ belong to the operator: choose another key"
	Annotations map[string]string `json:"annotations,omitempty"`
}

// FailoverSpec sets the clocks of failure detection.
// +kubebuilder:validation:XValidation:rule="duration(self.isolation) > duration(self.detection)",message="isolation must be longer than detection: an isolated primary is replaced first and stops itself later"
type FailoverSpec struct {
	// Detection is how long a member may be silent before it counts as hung or unreachable.
	// A crash is seen at once and does not wait for it. Between 1s and 60s.
	// +optional
	// +kubebuilder:default="3s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('60s')",message="detection must lie between 1s and 60s"
	Detection metav1.Duration `json:"detection,omitzero"`
	// Isolation is how long a member that hears neither the operator nor a peer goes on
	// serving reads before it stops its server. Between 2s and 10m. Writes stop earlier.
	// +optional
	// +kubebuilder:default="10s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('2s') && duration(self) <= duration('10m')",message="isolation must lie between 2s and 10m"
	Isolation metav1.Duration `json:"isolation,omitzero"`
}

// UpdateStrategy says who decides when the primary may be restarted.
// +kubebuilder:validation:Enum=Automatic;Supervised
type UpdateStrategy string

const (
	// UpdateAutomatic restarts replicas first and hands the primary over when they are done.
	UpdateAutomatic UpdateStrategy = "Automatic"
	// UpdateSupervised stops before the primary until a person approves with the annotation
	// db.holdfast.dev/approve-primary-restart: "<metadata.generation>".
	UpdateSupervised UpdateStrategy = "Supervised"
)
