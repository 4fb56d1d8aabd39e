package namespaces

import (
	"context"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/spf13/cobra"
)

// noEnv is an environment without variables.
func noEnv(string) string { return "" }

// StoresTopic is what "snowfence help stores" shows.
func StoresTopic() *cobra.Command {
	return &cobra.Command{
		Use: "stores", Short: "The URLs of stores",
		Long: `--store takes the URL of a store, for all commands; SNOWFENCE_STORE does, too.

  sqlite:PATH                                   a file, for programs here
  mem:                                          memory of the process
  postgres://USER@HOST:5432/DATABASE            PostgreSQL; HOST,HOST too
  mysql://USER@HOST:3306/DATABASE               MySQL or MariaDB
  redis://HOST:6379/0                           Redis, best effort
  redis+sentinel://HOST,HOST,HOST:26379/MASTER  Redis with sentinels
  redis+cluster://HOST,HOST,HOST:6379           Redis Cluster
  rediss:, rediss+sentinel:, rediss+cluster:    the same over TLS
  etcd://HOST,HOST,HOST:2379                    etcd
  kubernetes:///NAMESPACE                       Lease objects of a cluster
  dynamodb://TABLE                              Amazon DynamoDB
  s3://BUCKET/PREFIX                            Amazon S3

In a pod, kubernetes:// is its own namespace. The stores of Amazon need a program with the build
tag snowfence_amazon.

The namespace "default" is made at its first use; by "snowfence new" and Go programs in sqlite:
and mem:, all others are, too. Elsewhere make the others with "snowfence namespace create" first.

Without --store
  A command uses the file of this machine, for all its users, if it exists:
    ` + open.PlacesOf("linux", noEnv).System + `                       (Linux and others)
    ` + open.PlacesOf("darwin", noEnv).System + `   (macOS)
    %ProgramData%\snowfence\snowfence.db                  (Windows)
  Root makes it once, for the members of a group, and stops programs that have
  files of their own:
    groupadd --system snowfence
    install -d -m 2771 -g snowfence /var/lib/snowfence
    snowfence namespace create default \
      --store sqlite:/var/lib/snowfence/snowfence.db
    usermod -aG snowfence alice
  A user who may not write that file gets an error, not another store. A user
  who may only read it can list and show. Without such a file each user has a
  store, which is another scope: $XDG_STATE_HOME/snowfence/snowfence.db, in
  ~/.local/state unless that is set (%LOCALAPPDATA% on Windows).

Passwords
  They come from the first of these: the URL (USER:PASSWORD@, or the parameter
  password), the file that its parameter password_file names, the variable
  SNOWFENCE_STORE_PASSWORD, the file that SNOWFENCE_STORE_PASSWORD_FILE names.
  Everybody on the machine sees a URL on a command line. In a URL, write
  / ? # @ & and % as %2F %3F %23 %40 %26 and %25. No message shows a password.
  For PostgreSQL, MySQL and Redis a file is read again at each connect (with
  sentinels and for etcd: at the start).

Parameters stand behind '?', with '&' between them.
  all servers     connect_timeout=5s, password_file=PATH
  TLS             tls=yes|no, tls_ca=FILE, tls_cert=FILE, tls_key=FILE, tls_name=NAME,
                  tls_verify=no (redis, etcd, mysql; the files are PEM)
  postgres        sslmode=, sslrootcert=, sslcert=, sslkey=, sslsni=, sslnegotiation=,
                  channel_binding=, target_session_attrs= (read-write, with several hosts),
                  search_path=, application_name=, host=FOLDER of a socket,
                  default_query_exec_mode= (exec, behind pgbouncer), connections=8 (at least 2)
  mysql           socket=PATH, connections=8 (at least 2); without tls, TLS is used where the
                  server has it, and its certificate is not looked at
  redis           prefix=snowfence, replicas=0 (how many must acknowledge a grant before it is
                  used), aof=no (they must have synced it), ack_timeout=1s
  redis+sentinel  sentinel_user=, sentinel_password=, sentinel_password_file=
  etcd            prefix=snowfence/, timeout=3s (of one request)
  kubernetes      kubeconfig=FILE (outside of a pod), timeout=3s (of one request)
  dynamodb, s3    region=, profile=, endpoint=, timeout=3s (of one request)

"snowfence doctor" shows what a store is set up for. A role that may only read can list
and show, too. On Redis it needs version 7 and +eval_ro +evalsha_ro.`,
	}
}

// explainStore names the consequences of a store's settings that are not as
// they should be.
func explainStore(ctx context.Context, e *command.Env, st *open.Store, namespace string) {
	found, err := st.Findings(ctx, namespace)
	if err != nil {
		e.Message("how the store is set up cannot be seen: %s", command.WithoutPackage(err))
		return
	}
	for _, f := range found {
		if f.Advice != "" {
			e.Message("store: %s is %s: %s", f.Name, f.Value, f.Advice)
		}
	}
}
