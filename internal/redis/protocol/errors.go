package protocol

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// ErrBusy is the answer of a server that runs a long script: it is alive and can tell nothing more.
var ErrBusy = errors.New("the server is busy running a script")

// RefusedError is an answer of the server that says no.
type RefusedError struct {
	// Order that was refused, without secrets.
	Order string
	// Words of the server.
	Words string
}

func (e *RefusedError) Error() string { return fmt.Sprintf("%s refused: %s", e.Order, e.Words) }

// explain turns a driver's error into one of ours and says what was being done.
func explain(order string, err error) error {
	if err == nil {
		return nil
	}
	var answer redis.Error
	if !errors.As(err, &answer) {
		return fmt.Errorf("%s: %w", order, err)
	}
	words := answer.Error()
	if strings.HasPrefix(words, "BUSY ") {
		return fmt.Errorf("%s: %w", order, ErrBusy)
	}
	return &RefusedError{Order: order, Words: words}
}
