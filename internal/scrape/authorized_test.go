package scrape

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authenticationapi "k8s.io/api/authentication/v1"
	authorizationapi "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
)

// apiServer answers reviews as an API server does, and counts them.
type apiServer struct {
	t *testing.T

	mu      sync.Mutex
	tokens  int
	access  int
	broken  bool
	allowed map[string]bool
	asked   authorizationapi.SubjectAccessReviewSpec
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		http.Error(w, "etcd is away", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/apis/authentication.k8s.io/v1/tokenreviews":
		s.tokens++
		var review authenticationapi.TokenReview
		s.decode(r, &review)
		if token := review.Spec.Token; token == "reader" || token == "stranger" {
			review.Status.Authenticated = true
			review.Status.User = authenticationapi.UserInfo{
				Username: token, UID: "uid", Groups: []string{"g"}, Extra: map[string]authenticationapi.ExtraValue{"k": {"v"}},
			}
		}
		s.encode(w, review)
	case "/apis/authorization.k8s.io/v1/subjectaccessreviews":
		s.access++
		var review authorizationapi.SubjectAccessReview
		s.decode(r, &review)
		s.asked = review.Spec
		review.Status.Allowed = s.allowed[review.Spec.User]
		s.encode(w, review)
	default:
		s.t.Errorf("asked for %s", r.URL.Path)
	}
}

func (s *apiServer) decode(r *http.Request, into any) {
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		s.t.Error(err)
	}
}

func (s *apiServer) encode(w http.ResponseWriter, o any) {
	if err := json.NewEncoder(w).Encode(o); err != nil {
		s.t.Error(err)
	}
}

func (s *apiServer) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *apiServer) reviews() [2]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return [2]int{s.tokens, s.access}
}

// guarded is a guard in front of metrics, with its clock.
func guarded(t *testing.T) (*apiServer, http.Handler, *clocktesting.FakeClock) {
	t.Helper()
	s := &apiServer{t: t, allowed: map[string]bool{"reader": true}}
	listening := httptest.NewServer(s)
	t.Cleanup(listening.Close)
	clk := clocktesting.NewFakeClock(time.Now())
	config := &rest.Config{Host: listening.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	g, err := newGuard(config, listening.Client(), clk)
	if err != nil {
		t.Fatal(err)
	}
	handler, err := g.filter(logr.Discard(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("figures"))
	}))
	if err != nil {
		t.Fatal(err)
	}
	return s, handler, clk
}

func read(t *testing.T, h http.Handler, authorization string) int {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, r)
	if served := answer.Body.String() == "figures"; served != (answer.Code == http.StatusOK) {
		t.Errorf("status %d with the body %q", answer.Code, answer.Body)
	}
	return answer.Code
}

func TestWhoMayRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		authorization string
		want          int
	}{
		"a known caller with the right is served":        {"Bearer reader", http.StatusOK},
		"the scheme is written in any case":              {"bearer reader", http.StatusOK},
		"a known caller without the right is refused":    {"Bearer stranger", http.StatusForbidden},
		"an unknown token is not accepted":               {"Bearer forged", http.StatusUnauthorized},
		"no token is not accepted":                       {"", http.StatusUnauthorized},
		"an empty token is not accepted":                 {"Bearer ", http.StatusUnauthorized},
		"a password is not accepted for a token":         {"Basic reader", http.StatusUnauthorized},
		"a token without its scheme is not accepted":     {"reader", http.StatusUnauthorized},
		"a token with something behind is another token": {"Bearer reader x", http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, handler, _ := guarded(t)
			if got := read(t, handler, c.authorization); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestTheAPIServerIsAskedAboutTheCallerAndThePath(t *testing.T) {
	t.Parallel()
	s, handler, _ := guarded(t)
	read(t, handler, "Bearer reader")
	want := authorizationapi.SubjectAccessReviewSpec{
		User: "reader", UID: "uid", Groups: []string{"g"}, Extra: map[string]authorizationapi.ExtraValue{"k": {"v"}},
		NonResourceAttributes: &authorizationapi.NonResourceAttributes{Path: "/metrics", Verb: "get"},
	}
	if !reflect.DeepEqual(s.asked, want) {
		t.Errorf("asked about %+v, want %+v", s.asked, want)
	}
}

func TestNobodyIsServedWhileTheAPIServerIsAway(t *testing.T) {
	t.Parallel()
	s, handler, _ := guarded(t)
	s.set(func() { s.broken = true })
	if got := read(t, handler, "Bearer reader"); got != http.StatusInternalServerError {
		t.Errorf("got %d without an API server", got)
	}
	s.set(func() { s.broken = false })
	if got := read(t, handler, "Bearer reader"); got != http.StatusOK {
		t.Errorf("got %d afterwards: a failure to ask must not be remembered", got)
	}
}

func TestVerdictsHoldForAWhile(t *testing.T) {
	t.Parallel()
	s, handler, clk := guarded(t)
	read(t, handler, "Bearer reader")
	s.set(func() { s.allowed["reader"] = false })
	clk.Step(allowedFor - time.Millisecond)
	if got := read(t, handler, "Bearer reader"); got != http.StatusOK || s.reviews() != [2]int{1, 1} {
		t.Errorf("got %d after %v reviews within the time of a verdict", got, s.reviews())
	}
	clk.Step(2 * time.Millisecond)
	if got := read(t, handler, "Bearer reader"); got != http.StatusForbidden {
		t.Errorf("got %d after the right was taken", got)
	}
	s.set(func() { s.allowed["reader"] = true })
	clk.Step(deniedFor + time.Millisecond)
	if got := read(t, handler, "Bearer reader"); got != http.StatusOK || s.reviews() != [2]int{3, 3} {
		t.Errorf("got %d after %v reviews once the right was given", got, s.reviews())
	}
}
