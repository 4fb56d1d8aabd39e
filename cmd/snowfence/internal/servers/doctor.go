package servers

import (
	"bufio"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/snowfence/snowfence/cmd/internal/doctor"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/spf13/cobra"
)

// doctorTimeout bounds all questions to the store together.
const doctorTimeout = 30 * time.Second

func doctorCommand(e *command.Env) *cobra.Command {
	var f command.StoreFlags
	var config, stateDir string
	var ignore []string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Look for common problems, and name the cure", Args: cobra.NoArgs,
		Long: `Doctor looks at this machine's clock, the store and its disk, namespaces, nodes, holders,
servers and sequences, and with --config at a server and its settings. It prints what it found
with the cure, and ends with exit code 3 if it found something.

It changes nothing, and a role that may only read is enough. What it could not look at is "not
checked", never good. Names are for scripts; with --json what is good
has a line of its own, too.`,
		Example: `  snowfence doctor
  snowfence doctor --store postgres://reader@db.example/ids --json
  snowfence doctor --config /etc/snowfence/serve.yaml --ignore clock-sync`,
	}
	f.RegisterStore(cmd.Flags())
	cmd.Flags().StringVar(&stateDir, "state-dir", "", "`folder` of state files, whose disk to look at too")
	cmd.Flags().StringVar(&config, "config", "", "`file` of settings of a server, to look at too")
	cmd.Flags().StringSliceVar(&ignore, "ignore", nil, "`names` of results to leave out, with commas between them")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	cmd.RunE = e.Run(func(cmd *cobra.Command, _ []string, out *bufio.Writer) error {
		for _, name := range ignore {
			if !slices.Contains(doctor.Names(), name) {
				return command.Usagef("--ignore %s: there is no such name: use %s", name,
					strings.Join(doctor.Names(), ", "))
			}
		}
		c, err := doctorCase(cmd.Context(), e, &f, config)
		if err != nil {
			return err
		}
		c.StateDir = stateDir
		if c.Store != nil {
			defer c.Store.Close()
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), doctorTimeout)
		defer cancel()
		results := doctor.Look(ctx, c, ignore)
		if err := cmd.Context().Err(); err != nil {
			return err
		}
		return writeResults(e, out, results, asJSON)
	})
	return cmd
}

// doctorCase opens what there is to look at. Only mistakes of the command
// line are errors.
func doctorCase(ctx context.Context, e *command.Env, f *command.StoreFlags, config string) (*doctor.Case, error) {
	c := &doctor.Case{Now: e.Now}
	if config != "" {
		settings, err := settingsOf(e, []string{"--config", config}, nil)
		if err == nil && settings.Agent { // it listens elsewhere
			settings, err = settingsOf(e, []string{"--config", config}, agentDefaults)
		}
		if err != nil {
			return nil, err
		}
		c.Config = &settings
		if f.URL == "" {
			f.URL = settings.Store
		}
		if settings.Secrets != nil {
			c.Secrets = append(c.Secrets, config)
		}
		c.Secrets = append(c.Secrets, settings.TLSKey, settings.TokenFile)
		for _, files := range settings.SecretFiles {
			c.Secrets = append(c.Secrets, strings.Split(files, ":")...)
		}
	}
	c.Secrets = append(c.Secrets, open.SecretFiles(f.URL, e.Getenv)...)
	slices.Sort(c.Secrets)
	c.Secrets = slices.DeleteFunc(c.Secrets, func(file string) bool { return file == "" })
	c.Flags = f.Command("")
	switch {
	case f.URL == "":
		c.Store, c.StoreErr = e.Places.Look(ctx)
	case c.Config == nil || open.Servers(f.URL) == nil:
		c.Store, c.StoreErr = open.Look(ctx, f.URL, e.Getenv)
	}
	if errors.Is(c.StoreErr, open.ErrURL) {
		return nil, command.Usage(c.StoreErr)
	}
	if c.Store != nil {
		e.Hide = c.Store.Hide
	}
	return c, ctx.Err()
}

// writeResults writes findings first, because people look for them, and the
// good checks in one line.
func writeResults(e *command.Env, out *bufio.Writer, results []doctor.Result, asJSON bool) error {
	rank := []doctor.State{doctor.Found, doctor.NotChecked, doctor.Good}
	slices.SortStableFunc(results, func(a, b doctor.Result) int {
		return slices.Index(rank, a.State) - slices.Index(rank, b.State)
	})
	counts := map[doctor.State]int64{}
	var good, names []string
	for i, r := range results {
		counts[r.State]++
		if e.Hide != nil {
			r.Text, r.Cure = e.Hide(r.Text), e.Hide(r.Cure)
		}
		if asJSON {
			if err := command.WriteJSON(out, r); err != nil {
				return err
			}
			continue
		}
		if r.State == doctor.Good {
			good = append(good, r.Name)
			continue
		}
		names = append(names, r.Name)
		if r.State == doctor.NotChecked && i+1 < len(results) && sameReason(results[i], results[i+1]) {
			continue // one line for all of them
		}
		line := strings.Join(slices.Compact(names), ", ") + ": " + string(r.State) + ": "
		names = nil
		if r.About != "" {
			line += r.About + ": "
		}
		out.WriteString(command.Escaped(line+command.WithoutPackage(errors.New(r.Text)), "\n\t") + "\n")
		if r.Cure != "" {
			out.WriteString("  cure: " + command.Escaped(r.Cure, "\n\t") + "\n")
		}
	}
	if len(good) > 0 {
		out.WriteString("good: " + strings.Join(slices.Compact(good), ", ") + "\n")
	}
	e.Message("%s, %d good, %d not checked", show.Plural(counts[doctor.Found], "finding"), counts[doctor.Good],
		counts[doctor.NotChecked])
	if counts[doctor.Found] > 0 {
		return command.ErrFindings
	}
	return nil
}

// sameReason reports whether two checks were not done for one reason.
func sameReason(a, b doctor.Result) bool {
	return b.State == a.State && b.About == a.About && b.Text == a.Text
}
