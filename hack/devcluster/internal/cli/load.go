package cli

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/image"
)

func loadCommand(o *options) *cobra.Command {
	var name string
	var files, entrypoint []string
	user := image.NonRootUser
	cmd := &cobra.Command{
		Use:   "load [IMAGE.tar | OCI-LAYOUT]",
		Short: "Put an image into the cluster's registry, from a file or made of files",
		Long: "Put an image into the cluster's registry and print its name with its digest.\n\n" +
			"With an argument, the image is read from an archive or an OCI layout. With --file, it is\n" +
			"made of files of this machine, with nothing else in it but certificate authorities and /tmp.",
		Example: "  devcluster load --name holdfast/manager:dev --entrypoint /manager --file /manager=bin/manager\n" +
			"  devcluster load --name holdfast/manager:dev manager.tar",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := o.open(cmd)
			if err != nil {
				return err
			}
			source, err := loadSource(args, files)
			if err != nil {
				return err
			}
			source.Entrypoint, source.User = entrypoint, user
			reference, err := c.Load(cmd.Context(), name, source)
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), reference)
			return nil
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "name and tag of the image, as pods use it")
	cmd.Flags().StringArrayVar(&files, "file", nil, "file of the image: PATH-IN-IMAGE=FILE (repeat)")
	cmd.Flags().StringSliceVar(&entrypoint, "entrypoint", nil, "program that the image runs, with arguments after commas")
	cmd.Flags().StringVar(&user, "user", user, "user that the image runs as")
	_ = cmd.MarkFlagRequired("name")
	return cmd
}

func loadSource(args, files []string) (image.Source, error) {
	var source image.Source
	if len(args) == 1 {
		source.Path = args[0]
	}
	for _, file := range files {
		target, from, found := strings.Cut(file, "=")
		if !found || !path.IsAbs(target) || from == "" {
			return source, fmt.Errorf("--file %s: it must be PATH-IN-IMAGE=FILE, with an absolute path in the image", file)
		}
		if source.Files == nil {
			source.Files = map[string]string{}
		}
		source.Files[path.Clean(target)] = from
	}
	if (source.Path == "") == (source.Files == nil) {
		return source, errors.New("give either an archive or --file")
	}
	return source, nil
}
