package desired

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is what the builders return.
type Object interface {
	metav1.Object
	runtime.Object
}

// Identity is what the objects of one cluster have in common.
type Identity struct {
	// Namespace of the cluster and of all its objects.
	Namespace string
	// Labels on every object.
	Labels map[string]string
	// Selector of the cluster's pods; it can never change.
	Selector map[string]string
}

func (id Identity) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: id.Namespace, Labels: maps.Clone(id.Labels)}
}

func (id Identity) podSelector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: maps.Clone(id.Selector)}
}
