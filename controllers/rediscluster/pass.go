package rediscluster

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/conditions"
	"github.com/holdfast-dev/holdfast/internal/desired"
	"github.com/holdfast-dev/holdfast/internal/fleet"
	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/pki"
	"github.com/holdfast-dev/holdfast/internal/redis/dbconfig"
	"github.com/holdfast-dev/holdfast/internal/redis/facts"
	"github.com/holdfast-dev/holdfast/internal/redis/resources"
	"github.com/holdfast-dev/holdfast/internal/redis/topology"
	"github.com/holdfast-dev/holdfast/internal/rollout"
)

// pass is what the steps of one pass share. Each step fills what the ones behind it need.
type pass struct {
	cluster *v1.RedisCluster
	// before is the status as it was read or stored last, to write only what changed.
	before *v1.RedisCluster
	memory *memory
	log    logr.Logger

	// From the cache.
	pods   []corev1.Pod
	set    *appsv1.StatefulSet
	slice  *discoveryv1.EndpointSlice
	family discoveryv1.AddressType

	material pki.Material
	tls      fleet.TLSSource
	users    users
	config   configuration
	// unready says why servers cannot be told anything yet; empty: they can.
	unready string

	contacts []fleet.Contact
	state    topology.State
	decision topology.Decision
	// outdated says, by member, what differs from the spec.
	outdated map[string][]rollout.Reason
	problems []conditions.Problem
	working  []conditions.Activity
}

// users are the accepted passwords.
type users struct {
	accepted    []string
	replication string
}

func newPass(cluster *v1.RedisCluster, mem *memory, log logr.Logger) *pass {
	return &pass{cluster: cluster, before: cluster.DeepCopy(), memory: mem, log: log, family: discoveryv1.AddressTypeIPv4}
}

func (p *pass) key() types.NamespacedName { return client.ObjectKeyFromObject(p.cluster) }

func (p *pass) problem(reason, format string, args ...any) {
	p.problems = append(p.problems, conditions.Problem{Reason: reason, Message: fmt.Sprintf(format, args...)})
}

func (p *pass) work(reason, message string) {
	p.working = append(p.working, conditions.Activity{Reason: reason, Message: message})
}

// read fills in the objects that exist.
func (p *pass) read(ctx context.Context, r *Reconciler) error {
	var pods corev1.PodList
	selector := client.MatchingLabels(naming.MemberSelector(p.cluster.Name, naming.PartOfRedis))
	if err := r.Client.List(ctx, &pods, client.InNamespace(p.cluster.Namespace), selector); err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	p.pods = pods.Items
	set := &appsv1.StatefulSet{}
	found, err := get(ctx, r.Client, p.named(naming.StatefulSet(p.cluster.Name)), set)
	if err != nil {
		return err
	}
	if found && metav1.IsControlledBy(set, p.cluster) {
		p.set = set
	}
	slice := &discoveryv1.EndpointSlice{}
	if found, err = get(ctx, r.Client, p.named(naming.PrimaryService(p.cluster.Name)), slice); err != nil {
		return err
	}
	if found && metav1.IsControlledBy(slice, p.cluster) {
		p.slice = slice
	}
	service := &corev1.Service{}
	if found, err = get(ctx, r.Client, p.named(naming.PrimaryService(p.cluster.Name)), service); err != nil {
		return err
	}
	if found {
		p.family = desired.FamilyOf(service)
	}
	return nil
}

func (p *pass) named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: p.cluster.Namespace, Name: name}
}

// get reads an object and says whether it exists.
func get(ctx context.Context, c client.Reader, key types.NamespacedName, into client.Object) (bool, error) {
	err := c.Get(ctx, key, into)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get %T %s: %w", into, key.Name, err)
	}
	return true, nil
}

// routedUID is the pod that the primary Service leads to. A slice in the cache that is older than the
// one that we wrote does not count; once the cache has shown that one, a slice that is missing was deleted.
func (p *pass) routedUID() string {
	if version := p.memory.routedVersion; version != "" {
		current := p.slice != nil && !older(p.slice.ResourceVersion, version)
		p.memory.routedSeen = p.memory.routedSeen || current
		if behind := p.slice != nil && !current; behind || !p.memory.routedSeen {
			return p.memory.routedUID
		}
	}
	if p.slice == nil || len(p.slice.Endpoints) == 0 || p.slice.Endpoints[0].TargetRef == nil {
		return ""
	}
	return string(p.slice.Endpoints[0].TargetRef.UID)
}

// input is what the cluster's objects are built from.
func (p *pass) input(r *Reconciler) resources.Input {
	return resources.Input{Cluster: p.cluster, AgentImage: r.AgentImage, Images: r.Images, Config: p.config.rendered}
}

// wishes are what every server is told beside its role.
func (p *pass) wishes() facts.Wishes {
	return facts.Wishes{
		Engine:      resources.EngineName(p.cluster),
		Parameters:  p.config.rendered.Parameters,
		RestartOnly: p.config.rendered.RestartOnly,
		Users: []facts.User{
			{Name: naming.UserDefault, PasswordHashes: p.users.accepted, Rules: dbconfig.RulesDefault},
			{Name: naming.UserReplication, PasswordHashes: []string{hashOf(p.users.replication)}, Rules: dbconfig.RulesReplication},
		},
		ReplicationUser:     naming.UserReplication,
		ReplicationPassword: p.users.replication,
	}
}

// heardOf is when the primary's agent was heard last, for the timeline of a failover.
func (p *pass) heardOf(podUID string) time.Time {
	for _, c := range p.contacts {
		if c.PodUID == podUID {
			return c.HeardAt
		}
	}
	return time.Time{}
}
