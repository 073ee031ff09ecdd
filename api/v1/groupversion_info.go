// Package v1 holds the hub version of the db.holdfast.dev API: the types that the manager reads and writes.
//
// The package is imported by every layer, so it stays light: types, constants and
// small methods on them. It never imports another package of Holdfast.
// Start with RedisCluster in rediscluster_types.go.
//
// +kubebuilder:object:generate=true
// +groupName=db.holdfast.dev
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of the types in this package.
var GroupVersion = schema.GroupVersion{Group: "db.holdfast.dev", Version: "v1"}

// AddToScheme registers the types of this package with a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &RedisCluster{}, &RedisClusterList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
