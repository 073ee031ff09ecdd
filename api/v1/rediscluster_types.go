package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RedisMode is the way the members of a RedisCluster work together.
// +kubebuilder:validation:Enum=Replication
type RedisMode string

// RedisModeReplication is one primary with replicas; the operator fails over.
const RedisModeReplication RedisMode = "Replication"

// RedisEngine is the server that the members run.
// +kubebuilder:validation:Enum=Redis;Valkey
type RedisEngine string

// The engines that a RedisCluster can run.
const (
	EngineRedis  RedisEngine = "Redis"
	EngineValkey RedisEngine = "Valkey"
)

// RedisClusterSpec is what a user wants of a RedisCluster.
// +kubebuilder:validation:XValidation:rule="has(self.version) || has(self.image)",message="set version (for example \"8.0\") or image"
// +kubebuilder:validation:XValidation:rule="!has(self.durability) || !has(self.durability.minReplicasToWrite) || self.durability.minReplicasToWrite < self.replicas",message="durability.minReplicasToWrite must be smaller than replicas: the primary does not count"
// +kubebuilder:validation:XValidation:rule="has(self.storage.ephemeral) == has(oldSelf.storage.ephemeral) && (!has(self.storage.ephemeral) || self.storage.ephemeral == oldSelf.storage.ephemeral)",message="storage.ephemeral cannot change on a running cluster: create a new RedisCluster and copy the data"
// +kubebuilder:validation:XValidation:rule="has(self.storage.storageClassName) == has(oldSelf.storage.storageClassName) && (!has(self.storage.storageClassName) || self.storage.storageClassName == oldSelf.storage.storageClassName)",message="storage.storageClassName cannot change on a running cluster: create a new RedisCluster and copy the data"
// +kubebuilder:validation:XValidation:rule="has(self.storage.size) == has(oldSelf.storage.size) && (!has(self.storage.size) || quantity(self.storage.size).compareTo(quantity(oldSelf.storage.size)) == 0)",message="storage.size cannot change yet on a running cluster: create a new RedisCluster and copy the data"
type RedisClusterSpec struct {
	// Mode of the cluster. Replication: one primary, the rest replicas.
	// +optional
	// +kubebuilder:default=Replication
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="mode cannot change on a running cluster: create a new RedisCluster and copy the data"
	Mode RedisMode `json:"mode,omitempty"`

	// Engine that the members run.
	// +optional
	// +kubebuilder:default=Redis
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="engine cannot change on a running cluster: create a new RedisCluster and copy the data"
	Engine RedisEngine `json:"engine,omitempty"`

	// Version of the engine, major.minor or major.minor.patch. Names the image
	// unless image is set.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9]{1,3}\.[0-9]{1,3}(\.[0-9]{1,3})?$`
	// +kubebuilder:validation:MaxLength=16
	Version string `json:"version,omitempty"`

	// Image with the server on its PATH; wins over version. Any stock image of the engine works.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="!self.matches('[[:space:][:cntrl:]]')",message="image must be an image reference without spaces"
	Image string `json:"image,omitempty"`

	// Replicas is the number of members, the primary included.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9
	Replicas int32 `json:"replicas,omitempty"`

	// Storage of each member.
	Storage StorageSpec `json:"storage"`

	// Config holds parameters of the configuration file by name, for example maxmemory-policy: allkeys-lru.
	// A parameter that the server can change while it runs is applied live and read back; another one by an ordered restart.
	// +optional
	// +kubebuilder:validation:MaxProperties=128
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.matches('^[a-z][a-z0-9-]{0,63}$'))",message="config keys are lower-case parameter names of the engine, such as maxmemory-policy"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !self[k].matches('[[:cntrl:]]'))",message="config values must not contain control characters such as newlines"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !(k in ['bind','port','tls-port','unixsocket','unixsocketperm','dir','dbfilename','appendfilename','appenddirname','pidfile','logfile','daemonize','supervised','include','loadmodule','aclfile','user','requirepass','protected-mode','rename-command','replicaof','slaveof','masterauth','masteruser','primaryauth','primaryuser','replica-read-only','slave-read-only','replica-priority','slave-priority','min-replicas-to-write','min-slaves-to-write','min-replicas-max-lag','min-slaves-max-lag','replica-announce-ip','replica-announce-port','slave-announce-ip','slave-announce-port','enable-debug-command','enable-module-command','enable-protected-configs','shutdown-on-sigterm','shutdown-on-sigint','syslog-enabled','crash-log-enabled','set-proc-title','proc-title-template','locale-collate','replica-serve-stale-data','slave-serve-stale-data','repl-backlog-ttl','repl-ping-replica-period','repl-ping-slave-period','shutdown-timeout','replica-announced','slave-announced','unixsocketgroup']) && !k.startsWith('cluster-') && !k.startsWith('tls-') && !k.startsWith('rdma-') && !k.startsWith('sentinel'))",message="config must not set a parameter that the operator owns (addresses, directories, replication, authentication, cluster and TLS settings): use the field of the spec that is made for it, such as auth, replicas or durability"
	Config map[string]ConfigValue `json:"config,omitempty"`

	// Auth names the Secret with the password.
	// +optional
	// +kubebuilder:default={}
	Auth AuthSpec `json:"auth,omitempty"`

	// Resources of the database container. maxmemory follows from the memory limit unless config sets it.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`

	// Scheduling of the pods.
	// +optional
	Scheduling SchedulingSpec `json:"scheduling,omitempty"`

	// PodMetadata is added to the pods. Changes are applied to running pods without a restart.
	// +optional
	PodMetadata PodMetadata `json:"podMetadata,omitempty"`

	// Service shapes the Services <name>-primary and <name>-replicas.
	// +optional
	// +kubebuilder:default={}
	Service ServiceSpec `json:"service,omitempty"`

	// Failover sets the clocks of failure detection.
	// +optional
	// +kubebuilder:default={detection: "3s", isolation: "10s"}
	Failover FailoverSpec `json:"failover,omitzero"`

	// Durability sets how many replicas must be attached for the primary to take writes.
	// +optional
	// +kubebuilder:default={}
	Durability RedisDurabilitySpec `json:"durability,omitempty"`

	// UpdateStrategy says who decides when the primary may be restarted.
	// +optional
	// +kubebuilder:default=Automatic
	UpdateStrategy UpdateStrategy `json:"updateStrategy,omitempty"`

	// Paused stops everything that the operator does for this cluster, failover included.
	// +optional
	Paused bool `json:"paused,omitempty"`
}

// ConfigValue is the value of one configuration parameter, as it would stand in the file.
// +kubebuilder:validation:MaxLength=1024
type ConfigValue string

// RedisDurabilitySpec bounds what the loss of members can cost.
type RedisDurabilitySpec struct {
	// MinReplicasToWrite is the number of attached replicas below which the primary refuses
	// writes. Absent: 1 with three or more members, else 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=8
	MinReplicasToWrite *int32 `json:"minReplicasToWrite,omitempty"`
}

// RedisClusterStatus is what the operator observed last.
type RedisClusterStatus struct {
	// ObservedGeneration is the generation of the spec that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Phase is one word for people; programs read the conditions.
	// +optional
	Phase string `json:"phase,omitempty"`
	// Conditions of the cluster; see the constants in conditions.go.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Primary is the pod that takes writes, as decided in this epoch.
	// +optional
	Primary string `json:"primary,omitempty"`
	// PrimaryUID is the UID of that pod, so that its successor of the same name is told apart.
	// +optional
	PrimaryUID string `json:"primaryUID,omitempty"`
	// ReplicationID under which that primary serves. A member whose data carries it has been in
	// step with this primary.
	// +optional
	ReplicationID string `json:"replicationID,omitempty"`
	// Epoch counts the decisions about who is primary. It only rises; members refuse older ones.
	// +optional
	Epoch int64 `json:"epoch,omitempty"`
	// Transition is the change of primary that is under way. It is stored before its first effect.
	// +optional
	Transition *Transition `json:"transition,omitempty"`
	// SyncSet lists the members that may hold a confirmed write that no other replica holds.
	// A failover waits for enough of them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	SyncSet []string `json:"syncSet,omitempty"`
	// Members as observed, by ordinal.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Members []MemberStatus `json:"members,omitempty"`
	// ReadyMembers counts the members that serve in their role, as "2/3".
	// +optional
	ReadyMembers string `json:"readyMembers,omitempty"`
	// Replicas counts the pods of the cluster, for the scale subresource.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// Selector of the cluster's pods, for the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`
	// Version that the primary reports.
	// +optional
	Version string `json:"version,omitempty"`
}

// TransitionKind says why the primary changes.
// +kubebuilder:validation:Enum=Bootstrap;Failover;HandOver
type TransitionKind string

// The kinds of transition.
const (
	// TransitionBootstrap gives the first primary its role, or the first one after all members were gone.
	TransitionBootstrap TransitionKind = "Bootstrap"
	// TransitionFailover replaces a primary that cannot serve.
	TransitionFailover TransitionKind = "Failover"
	// TransitionHandOver moves the role from a healthy primary, before a planned stop.
	TransitionHandOver TransitionKind = "HandOver"
)

// Transition is the stored intent of a change of primary.
type Transition struct {
	// Kind of the transition.
	Kind TransitionKind `json:"kind"`
	// Epoch that the new primary will serve in; higher than status.epoch.
	Epoch int64 `json:"epoch"`
	// From is the pod that is primary so far; empty for a bootstrap.
	// +optional
	From string `json:"from,omitempty"`
	// FromUID is the UID of that pod, so that its successor of the same name is told apart.
	// +optional
	FromUID string `json:"fromUID,omitempty"`
	// To is the pod that becomes primary; empty until elected, then fixed until it is proven dead.
	// +optional
	To string `json:"to,omitempty"`
	// ToUID is the UID of that pod.
	// +optional
	ToUID string `json:"toUID,omitempty"`
	// Reason is a full sentence for people.
	Reason string `json:"reason"`
	// StartedAt is when the intent was stored.
	StartedAt metav1.MicroTime `json:"startedAt"`
}

// MemberStatus is one member as observed.
type MemberStatus struct {
	// Name of the pod.
	Name string `json:"name"`
	// Role that the server reports: Primary, Replica, Held, Down or Unknown.
	Role MemberRole `json:"role"`
	// Ready says whether the member serves in its role.
	Ready bool `json:"ready"`
	// LagBytes behind the primary, rounded up to a power of two so that a steady stream of
	// writes does not change the status; absent where unknown.
	// +optional
	LagBytes *int64 `json:"lagBytes,omitempty"`
	// Version that the server reports.
	// +optional
	Version string `json:"version,omitempty"`
	// Node that the pod runs on.
	// +optional
	Node string `json:"node,omitempty"`
	// Message says what is wrong with the member, or what it waits for.
	// +optional
	Message string `json:"message,omitempty"`
}

// MemberRole is the role of a member as observed.
// +kubebuilder:validation:Enum=Primary;Replica;Held;Down;Unknown
type MemberRole string

// The roles of a member.
const (
	RolePrimary MemberRole = "Primary"
	RoleReplica MemberRole = "Replica"
	RoleHeld    MemberRole = "Held"
	RoleDown    MemberRole = "Down"
	RoleUnknown MemberRole = "Unknown"
)

// RedisCluster is a set of Redis or Valkey servers of which one takes writes.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:shortName=rdc,categories=all;holdfast
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.readyMembers`
// +kubebuilder:printcolumn:name="Primary",type=string,JSONPath=`.status.primary`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Epoch",type=integer,JSONPath=`.status.epoch`,priority=1
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$') && self.metadata.name.size() <= 40",message="metadata.name must be a DNS label that starts with a letter, of at most 40 characters: pods and Services add to it"
type RedisCluster struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is wanted.
	Spec RedisClusterSpec `json:"spec"`
	// Status is what was observed last.
	// +optional
	Status RedisClusterStatus `json:"status,omitempty"`
}

// RedisClusterList is a list of RedisCluster.
// +kubebuilder:object:root=true
type RedisClusterList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RedisCluster `json:"items"`
}

// MinReplicasToWrite is the number of attached replicas below which the primary refuses writes.
func (c *RedisCluster) MinReplicasToWrite() int32 {
	if v := c.Spec.Durability.MinReplicasToWrite; v != nil {
		return *v
	}
	if c.Spec.Replicas >= 3 {
		return 1
	}
	return 0
}
