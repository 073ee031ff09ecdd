package naming

// ManagerLabels select the operator's own pods, as config/manager labels them.
func ManagerLabels() map[string]string {
	return map[string]string{"control-plane": "controller-manager", LabelName: "holdfast"}
}
