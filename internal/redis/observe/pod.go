package observe

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// brokenReasons are the reasons of a waiting container that does not come up by waiting.
var brokenReasons = []string{
	"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull",
	"CrashLoopBackOff", "CreateContainerConfigError", "CreateContainerError", "RunContainerError",
}

// Broken says why a pod does not get to run its server; empty: nothing is known to be wrong.
func Broken(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return "no node takes the pod: " + c.Message
		}
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil && slices.Contains(brokenReasons, w.Reason) {
			return fmt.Sprintf("container %s: %s: %s", c.Name, w.Reason, w.Message)
		}
	}
	if pod.Status.Phase == corev1.PodFailed {
		return "the pod failed: " + pod.Status.Message
	}
	return ""
}
