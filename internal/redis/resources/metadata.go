package resources

import (
	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/desired"
)

// PodMetadata is what the user adds to the pods; desired.Relabel brings it to running ones.
func PodMetadata(c *v1.RedisCluster) (desired.Metadata, error) {
	return desired.NewMetadata(c.Spec.PodMetadata.Labels, c.Spec.PodMetadata.Annotations)
}
