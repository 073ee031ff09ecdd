package scrape

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	authenticationapi "k8s.io/api/authentication/v1"
	authorizationapi "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	authentication "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	// allowedFor and deniedFor are how long a verdict holds. A right that was just given counts sooner
	// than one that was just taken.
	allowedFor = time.Minute
	deniedFor  = 10 * time.Second
	// verdicts that are kept, so that a flood of tokens costs bounded memory.
	verdicts = 256
	// reviewTimeout bounds the wait for the API server.
	reviewTimeout = 10 * time.Second
	// reviewQPS and reviewBurst bound what callers without rights can make the API server do. The
	// manager's other calls have a throttle of their own.
	reviewQPS   = 5
	reviewBurst = 10
)

// guard decides who may read.
type guard struct {
	tokens authentication.TokenReviewInterface
	access authorization.SubjectAccessReviewInterface
	known  *cache.LRUExpireCache
}

// question names what is asked, without keeping the token.
type question struct {
	token      [sha256.Size]byte
	verb, path string
}

// verdict is the status that a caller gets; http.StatusOK: it is served.
type verdict int

// Authorized is a filter for the metrics server.
func Authorized(config *rest.Config, client *http.Client) (server.Filter, error) {
	g, err := newGuard(config, client, clock.RealClock{})
	if err != nil {
		return nil, err
	}
	return g.filter, nil
}

func newGuard(config *rest.Config, client *http.Client, clk cache.Clock) (*guard, error) {
	throttled := rest.CopyConfig(config)
	throttled.QPS, throttled.Burst = reviewQPS, reviewBurst
	tokens, err := authentication.NewForConfigAndClient(throttled, client)
	if err != nil {
		return nil, fmt.Errorf("make the client of token reviews: %w", err)
	}
	access, err := authorization.NewForConfigAndClient(throttled, client)
	if err != nil {
		return nil, fmt.Errorf("make the client of access reviews: %w", err)
	}
	return &guard{
		tokens: tokens.TokenReviews(), access: access.SubjectAccessReviews(),
		known: cache.NewLRUExpireCacheWithClock(verdicts, clk),
	}, nil
}

func (g *guard) filter(log logr.Logger, next http.Handler) (http.Handler, error) {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := g.judge(r)
		if err != nil {
			log.Error(err, "cannot find out whether a caller may read the metrics")
			http.Error(w, "the API server could not be asked", http.StatusInternalServerError)
			return
		}
		switch v {
		case http.StatusOK:
			next.ServeHTTP(w, r)
		case http.StatusUnauthorized:
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "a bearer token that the API server knows is needed", http.StatusUnauthorized)
		default:
			http.Error(w, "the caller may not "+strings.ToLower(r.Method)+" this path", http.StatusForbidden)
		}
	}), nil
}

// judge asks the API server, unless it answered the same a moment ago.
func (g *guard) judge(r *http.Request) (verdict, error) {
	token := bearer(r)
	if token == "" {
		return http.StatusUnauthorized, nil
	}
	q := question{token: sha256.Sum256([]byte(token)), verb: strings.ToLower(r.Method), path: r.URL.Path}
	if v, ok := g.known.Get(q); ok {
		return v.(verdict), nil
	}
	ctx, stop := context.WithTimeout(r.Context(), reviewTimeout)
	defer stop()
	v, err := g.review(ctx, token, q)
	if err != nil {
		return 0, err
	}
	if v == http.StatusOK {
		g.known.Add(q, v, allowedFor)
	} else {
		g.known.Add(q, v, deniedFor)
	}
	return v, nil
}

// review finds out who the caller is, then whether he may.
func (g *guard) review(ctx context.Context, token string, q question) (verdict, error) {
	who, err := g.tokens.Create(ctx, &authenticationapi.TokenReview{
		Spec: authenticationapi.TokenReviewSpec{Token: token},
	}, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("review a token: %w", err)
	}
	if !who.Status.Authenticated {
		return http.StatusUnauthorized, nil
	}
	user := who.Status.User
	extra := make(map[string]authorizationapi.ExtraValue, len(user.Extra))
	for key, values := range user.Extra {
		extra[key] = authorizationapi.ExtraValue(values)
	}
	may, err := g.access.Create(ctx, &authorizationapi.SubjectAccessReview{
		Spec: authorizationapi.SubjectAccessReviewSpec{
			User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
			NonResourceAttributes: &authorizationapi.NonResourceAttributes{Path: q.path, Verb: q.verb},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("review the access of %s: %w", user.Username, err)
	}
	if !may.Status.Allowed || may.Status.Denied {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}

// bearer is the token of a request; empty: it has none.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
