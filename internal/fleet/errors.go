package fleet

import (
	"errors"
	"fmt"
)

var (
	// ErrNotConnected: there is no open stream to the member, so no order was sent. A wake-up
	// follows when there is one.
	ErrNotConnected = errors.New("no stream to the agent")
	// ErrUnknownMember: Sync was never told of the member, or it was forgotten.
	ErrUnknownMember = errors.New("member is not in the fleet")
)

// RefusedError is an agent's refusal of an order. The order had no effect, unless Code is
// wire.CodeEngine: then the server failed on the way and the next record tells what it is now.
type RefusedError struct {
	// Code is one of wire's Code constants.
	Code string
	// Epoch that the agent has seen, for wire.CodeStaleEpoch.
	Epoch int64
	// Message in the agent's words.
	Message string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("agent refused (%s): %s", e.Code, e.Message)
}
