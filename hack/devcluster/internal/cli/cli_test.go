package cli

import (
	"strings"
	"testing"
)

func TestLoadTakesAnArchiveOrFiles(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		args, files []string
		refused     string
	}{
		"an archive":               {[]string{"a.tar"}, nil, ""},
		"files":                    {nil, []string{"/manager=bin/manager", "/a=b=c"}, ""},
		"both":                     {[]string{"a.tar"}, []string{"/a=b"}, "either"},
		"neither":                  {nil, nil, "either"},
		"a file without a source":  {nil, []string{"/manager="}, "--file /manager="},
		"a file without a place":   {nil, []string{"bin/manager"}, "--file bin/manager"},
		"a place that is relative": {nil, []string{"manager=bin/manager"}, "absolute"},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			source, err := loadSource(c.args, c.files)
			if (err != nil) != (c.refused != "") || (err != nil && !strings.Contains(err.Error(), c.refused)) {
				t.Fatalf("error %v, want one about %q", err, c.refused)
			}
			if err == nil && len(source.Files) != len(c.files) {
				t.Errorf("%d files, want %d", len(source.Files), len(c.files))
			}
		})
	}
}

func TestEveryCommandExplainsItself(t *testing.T) {
	t.Parallel()
	for _, path := range [][]string{
		{"up"}, {"down"}, {"status"}, {"images"}, {"assets"}, {"load"}, {"logs"},
		{"node", "stop"}, {"node", "start"}, {"node", "freeze"}, {"node", "thaw"},
		{"net", "cut"}, {"net", "heal"}, {"net", "list"},
	} {
		cmd, rest, err := Root().Find(path)
		if err != nil || len(rest) != 0 || cmd.Short == "" || cmd.RunE == nil {
			t.Errorf("%v: %q, %v, %v", path, cmd.Short, rest, err)
		}
	}
}

func TestCommandsThatNeedTwoEndsRefuseOne(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"net", "cut", "n1"}, {"net", "heal", "n1"}, {"node", "stop"}, {"load", "a.tar"}} {
		root := Root()
		root.SetArgs(args)
		if err := root.ExecuteContext(t.Context()); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
}
