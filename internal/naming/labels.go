package naming

import "maps"

// Prefix of all labels, annotations and the finalizer of Holdfast.
const Prefix = "db.holdfast.dev/"

// FieldOwner of everything that the manager applies.
const FieldOwner = "holdfast"

// Finalizer on clusters: the manager ends its streams to the members before the object goes.
const Finalizer = Prefix + "finalizer"

// Labels that Holdfast writes.
const (
	// LabelName is what runs in the pods, in the words of the engine: redis or valkey.
	LabelName = "app.kubernetes.io/name"
	// LabelInstance is the name of the cluster.
	LabelInstance = "app.kubernetes.io/instance"
	// LabelComponent is the part that a pod plays: ComponentDatabase.
	LabelComponent = "app.kubernetes.io/component"
	// LabelManagedBy is ManagedBy on every object that Holdfast owns; the manager's cache is filtered by it.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// LabelPartOf is the kind that the object belongs to, in lower case: rediscluster.
	LabelPartOf = "app.kubernetes.io/part-of"
	// LabelCluster is the name of the cluster; selectors use it.
	LabelCluster = Prefix + "cluster"
	// LabelRole is the role that a pod has: RolePrimary, RoleReplica, or absent. It is for people
	// and kubectl -l: nothing is ever routed by it.
	LabelRole = Prefix + "role"
	// LabelClient, with the value "true", marks a namespace whose pods may reach the databases through the NetworkPolicy.
	LabelClient = Prefix + "client"
)

// Values of labels.
const (
	ManagedBy         = "holdfast"
	ComponentDatabase = "database"
	PartOfRedis       = "rediscluster"
	RolePrimary       = "primary"
	RoleReplica       = "replica"
)

// Labels of EndpointSlices, as Kubernetes defines them.
const (
	LabelServiceName    = "kubernetes.io/service-name"
	LabelSliceManagedBy = "endpointslice.kubernetes.io/managed-by"
	// SliceManagedBy keeps Kubernetes' own EndpointSlice controllers away from our slices.
	SliceManagedBy = "db.holdfast.dev"
)

// Annotations that Holdfast reads or writes.
const (
	// AnnotationApprovePrimaryRestart on a cluster approves the restart of its primary under the
	// Supervised strategy. The value is the metadata.generation that it approves.
	AnnotationApprovePrimaryRestart = Prefix + "approve-primary-restart"
	// AnnotationRestartParts on a pod template holds what a change of needs a restart, as JSON.
	AnnotationRestartParts = Prefix + "restart-parts"
	// AnnotationMetadataKeys on a pod lists the keys of labels and annotations that the user's
	// podMetadata put there, as JSON, so that a key taken back is removed and a third party's is kept.
	AnnotationMetadataKeys = Prefix + "metadata-keys"
	// AnnotationRestartedAt on a cluster asks for an ordered restart of all members; each new value
	// restarts them once.
	AnnotationRestartedAt = Prefix + "restarted-at"
	// AnnotationAcceptDataLoss on a cluster: the epoch, as in status.epoch, that a person lets a failover
	// end without the members that may hold confirmed writes. It is used up with that epoch.
	AnnotationAcceptDataLoss = Prefix + "accept-data-loss"
)

// ClusterLabels are on every object of a cluster. Engine is the value of LabelName, partOf that of LabelPartOf.
func ClusterLabels(cluster, engine, partOf string) map[string]string {
	return map[string]string{
		LabelName:      engine,
		LabelInstance:  cluster,
		LabelManagedBy: ManagedBy,
		LabelPartOf:    partOf,
		LabelCluster:   cluster,
	}
}

// MemberLabels are on every pod of a cluster, beside those of the user.
func MemberLabels(cluster, engine, partOf string) map[string]string {
	labels := ClusterLabels(cluster, engine, partOf)
	labels[LabelComponent] = ComponentDatabase
	return labels
}

// MemberSelector selects the pods of a cluster. It must stay a subset of MemberLabels: a
// StatefulSet's selector cannot be changed.
func MemberSelector(cluster, partOf string) map[string]string {
	return map[string]string{
		LabelCluster:   cluster,
		LabelComponent: ComponentDatabase,
		LabelPartOf:    partOf,
	}
}

// With returns base with the entries of extra that base does not have: a user's labels never
// replace ours.
func With(base, extra map[string]string) map[string]string {
	merged := make(map[string]string, len(base)+len(extra))
	maps.Copy(merged, extra)
	maps.Copy(merged, base)
	return merged
}
