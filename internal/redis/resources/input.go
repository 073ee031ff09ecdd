package resources

import (
	"fmt"
	"strings"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/desired"
	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/redis/dbconfig"
)

// Input is what the objects of a RedisCluster are made from.
type Input struct {
	Cluster *v1.RedisCluster
	// AgentImage is the operator's image that new pods take the agent from.
	AgentImage string
	// Images are the repositories of the stock images.
	Images Images
	// Config as dbconfig.Render returned it.
	Config dbconfig.Rendered
}

// Images are the repositories that a version is looked up in, without a tag.
type Images struct {
	// Redis, for example "redis".
	Redis string
	// Valkey, for example "valkey/valkey".
	Valkey string
}

// ports of the Services.
func clientPort() desired.Port {
	return desired.Port{Name: naming.PortNameRedis, Number: naming.RedisPort}
}

// EngineName is the engine as the agent and the labels spell it.
func EngineName(c *v1.RedisCluster) string { return strings.ToLower(string(c.Spec.Engine)) }

// Identity of the cluster's objects.
func Identity(c *v1.RedisCluster) desired.Identity {
	return desired.Identity{
		Namespace: c.Namespace,
		Labels:    naming.ClusterLabels(c.Name, EngineName(c), naming.PartOfRedis),
		Selector:  naming.MemberSelector(c.Name, naming.PartOfRedis),
	}
}

// ServerImage is the image that the servers run.
func ServerImage(c *v1.RedisCluster, images Images) (string, error) {
	if c.Spec.Image != "" {
		return c.Spec.Image, nil
	}
	if c.Spec.Version == "" {
		return "", fmt.Errorf("cluster %s has neither version nor image", c.Name)
	}
	switch c.Spec.Engine {
	case v1.EngineRedis:
		return images.Redis + ":" + c.Spec.Version, nil
	case v1.EngineValkey:
		return images.Valkey + ":" + c.Spec.Version, nil
	default:
		return "", fmt.Errorf("cluster %s has the unknown engine %q", c.Name, c.Spec.Engine)
	}
}
