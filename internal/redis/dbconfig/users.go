package dbconfig

// Rules of the users of a server, in the engine's words.
const (
	// RulesDefault lets the application do everything with its data, and nothing with what the operator
	// looks after: replication, configuration, users, the process.
	RulesDefault = "~* &* +@all -replicaof -slaveof -failover -psync -sync -replconf -shutdown -debug -acl " +
		"-config|set -config|rewrite -config|resetstat -module -cluster -bgrewriteaof -save -monitor"
	// RulesReplication is what a replica needs at its primary.
	RulesReplication = "+psync +replconf +ping"
)
