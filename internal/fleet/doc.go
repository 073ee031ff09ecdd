// Package fleet keeps the manager in touch with the agents: one HTTP/2 connection with mutual
// TLS to each member, on which the agent streams its records and the manager gives its orders.
//
// The reconciler says whom to talk to (Sync), reads what is known (Contacts) and gives orders
// (Assign, HandOver, Kill, Refresh). The fleet wakes the reconciler when something happened that
// a decision may depend on, and stays quiet otherwise, so that a steady cluster costs nothing.
//
// The package must never decide anything: it reports that a member is connected, silent or gone,
// and never that it is dead. It must never echo a record that Contacts does not show yet, since an
// agent trusts the echo for its lease. It knows no engine and no Kubernetes object.
//
// Start with Fleet and Contact; link.go is the life of one connection.
package fleet
