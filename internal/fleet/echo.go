package fleet

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/wire"
)

// echoBody is the request body of a stream: it turns the newest echo into a line whenever the
// connection is ready to send. Only the newest counts, so a peer that does not read costs one
// pending number and blocks nobody.
type echoBody struct {
	pending chan int64
	rest    []byte

	once   sync.Once
	closed chan struct{}
}

func newEchoBody() *echoBody {
	return &echoBody{pending: make(chan int64, 1), closed: make(chan struct{})}
}

// put replaces the pending echo. It has a single caller, the reader of the stream.
func (e *echoBody) put(sentMono int64) {
	select {
	case <-e.pending:
	default:
	}
	e.pending <- sentMono
}

// Read blocks until there is something to echo or the body is closed.
func (e *echoBody) Read(p []byte) (int, error) {
	if len(e.rest) == 0 {
		select {
		case <-e.closed:
			return 0, io.EOF
		case sentMono := <-e.pending:
			line, err := json.Marshal(wire.Echo{SentMono: sentMono})
			if err != nil {
				return 0, fmt.Errorf("encode echo: %w", err)
			}
			e.rest = append(line, '\n')
		}
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// Close ends a Read that waits. The connection calls it when the stream is over, and does not tell
// the reader of the stream before the Read has returned.
func (e *echoBody) Close() error {
	e.once.Do(func() { close(e.closed) })
	return nil
}
