package fake_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/redis/protocol"
	"github.com/holdfast-dev/holdfast/internal/redis/protocol/contract"
	"github.com/holdfast-dev/holdfast/internal/redis/protocol/fake"
)

func TestTheFakeKeepsTheContract(t *testing.T) {
	t.Parallel()
	contract.Run(t, func(*testing.T) func(*testing.T) contract.Instance {
		network := fake.NewNetwork()
		port := int32(7000)
		return func(*testing.T) contract.Instance {
			port++
			address := protocol.Address{Host: "127.0.0.1", Port: port}
			server := network.Start(address)
			return contract.Instance{Server: server, Address: address, Login: func(user, password string) (contract.Client, error) {
				session, err := server.Login(user, password)
				return session, err
			}}
		}
	})
}
