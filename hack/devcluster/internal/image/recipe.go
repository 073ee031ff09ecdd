package image

import (
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/versions"
)

// Recipe describes an image of a database from Debian packages.
type Recipe struct {
	// Repository is the name that pods use, in full: library/redis for redis.
	Repository string
	// Packages are kept whole; the first one gives the image its version.
	Packages []string
	// Drop are patterns of files that the packages bring and nobody needs here.
	Drop []string
	// Commands must be on the image's PATH.
	Commands []string
	// DataDir is writable by every user.
	DataDir string
	// User is the one that the image runs as unless the pod says otherwise.
	User string
	Cmd  []string
}

// databaseUser is the number that the official images use too.
const databaseUser = "999"

// shellPackage brings the shell and the small tools of every image.
const shellPackage = "busybox-static"

// Recipes lists the images of the databases.
func Recipes() []Recipe {
	return []Recipe{
		{
			Repository: "library/redis",
			Packages:   []string{"redis-server", "redis-tools"},
			Commands:   []string{"redis-server", "redis-cli"},
			DataDir:    "/data",
			User:       databaseUser,
			Cmd:        []string{"redis-server"},
		},
		{
			Repository: "valkey/valkey",
			Packages:   []string{"valkey-server", "valkey-tools"},
			Commands:   []string{"valkey-server", "valkey-cli"},
			DataDir:    "/data",
			User:       databaseUser,
			Cmd:        []string{"valkey-server"},
		},
		{
			Repository: "library/mysql",
			Packages:   []string{"mysql-server-core", "mysql-client-core"},
			Drop:       mysqlDrop(),
			Commands:   []string{"mysqld", "mysql", "mysqldump", "mysqlbinlog"},
			DataDir:    "/var/lib/mysql",
			User:       databaseUser,
			Cmd:        []string{"mysqld"},
		},
	}
}

// mysqlDrop leaves the server, its plugins and the tools for running it: the
// rest links the client library in statically, 7 MB each.
func mysqlDrop() []string {
	return []string{
		"/usr/bin/ibd2sdi", "/usr/bin/innochecksum", "/usr/bin/my_print_defaults", "/usr/bin/myisam*",
		"/usr/bin/mysql_config_editor", "/usr/bin/mysql_migrate_keyring", "/usr/bin/mysql_secure_installation",
		"/usr/bin/mysqlimport", "/usr/bin/mysqlshow", "/usr/bin/mysqlslap", "/usr/bin/perror",
		"/usr/lib/mysql/plugin/authentication_*_client.so", "/usr/lib/mysql/plugin/telemetry_client.so",
	}
}

// Repositories and tags of the images that the cluster itself needs.
const (
	PauseRepository   = "devcluster/pause"
	CoreDNSRepository = "devcluster/coredns"
	PauseTag          = versions.Images
	CoreDNSTag        = versions.CoreDNS + "-" + versions.Images
)
