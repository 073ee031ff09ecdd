package load

import (
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-dev/holdfast/internal/testkit/history"
)

// outcomeOf says what a client knows after an operation that was sent. A server that answers with an
// error did not do it. Without an answer it may have happened.
func outcomeOf(err error) history.Outcome {
	var answer redis.Error
	switch {
	case err == nil:
		return history.OK
	case !errors.As(err, &answer):
		return history.Info
	case strings.HasPrefix(answer.Error(), "UNBLOCKED"):
		// A command that was waiting when the role changed: the server does not say how far it came.
		return history.Info
	}
	return history.Fail
}

// mayTryNextPassword says whether the server refused these credentials rather than the client.
func mayTryNextPassword(err error) bool {
	var answer redis.Error
	return errors.As(err, &answer) &&
		(strings.HasPrefix(answer.Error(), "WRONGPASS") || strings.HasPrefix(answer.Error(), "NOAUTH"))
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
