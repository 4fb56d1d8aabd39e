package chart

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	podsecurity "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	strict "sigs.k8s.io/json"
)

// release is what a chart installs, as Kubernetes reads it.
type release struct {
	config     corev1.ConfigMap
	job        batchv1.Job
	deployment appsv1.Deployment
	services   []corev1.Service
	budget     policyv1.PodDisruptionBudget
	policies   []networkingv1.NetworkPolicy
	monitor    object
	account    corev1.ServiceAccount
	role       rbacv1.Role
	binding    rbacv1.RoleBinding
}

// load decodes all objects strictly: a field that Kubernetes does not have
// fails.
func load(t *testing.T, name string, v values) *release {
	t.Helper()
	r := &release{}
	all := objects(t, name, v)
	for _, id := range slices.Sorted(maps.Keys(all)) {
		o := all[id]
		kind, _, _ := strings.Cut(id, "/")
		switch at[string](t, o, "apiVersion") + " " + kind {
		case "v1 ConfigMap":
			into(t, id, o, &r.config)
		case "apps/v1 Deployment":
			into(t, id, o, &r.deployment)
		case "batch/v1 Job":
			into(t, id, o, &r.job)
		case "v1 ServiceAccount":
			into(t, id, o, &r.account)
		case "rbac.authorization.k8s.io/v1 Role":
			into(t, id, o, &r.role)
		case "rbac.authorization.k8s.io/v1 RoleBinding":
			into(t, id, o, &r.binding)
		case "v1 Service":
			r.services = append(r.services, corev1.Service{})
			into(t, id, o, &r.services[len(r.services)-1])
		case "policy/v1 PodDisruptionBudget":
			into(t, id, o, &r.budget)
		case "networking.k8s.io/v1 NetworkPolicy":
			r.policies = append(r.policies, networkingv1.NetworkPolicy{})
			into(t, id, o, &r.policies[len(r.policies)-1])
		case "monitoring.coreos.com/v1 ServiceMonitor":
			r.monitor = o
		default:
			t.Errorf("no test knows the type of %s", id)
		}
	}
	return r
}

func into(t *testing.T, id string, o object, to metav1.Object) {
	t.Helper()
	text := must(json.Marshal(o))
	unknown, err := strict.UnmarshalStrict(text, to)
	if err != nil || len(unknown) > 0 {
		t.Errorf("%s: %v %v", id, err, unknown)
	}
	if errs := validation.ValidateLabels(to.GetLabels(), field.NewPath(id)); len(errs) > 0 {
		t.Error(errs)
	}
	if to.GetLabels()["app.kubernetes.io/managed-by"] != "Helm" {
		t.Errorf("%s has the labels %v", id, to.GetLabels())
	}
}

func both(t *testing.T, f func(t *testing.T, v values, r *release)) {
	t.Helper()
	for name, v := range map[string]values{"defaults": {}, "everything": parse(t, everything)} {
		t.Run(name, func(t *testing.T) { f(t, v, load(t, "snowfence", v)) })
	}
}

// Whatever chooses pods chooses this release's, and not another's. The pods
// of the job have the rules for what they may reach, and get no requests.
func TestSelectors(t *testing.T) {
	both(t, func(t *testing.T, v values, r *release) {
		pod := r.deployment.Spec.Template
		if errs := validation.ValidateLabels(pod.Labels, field.NewPath("pod")); len(errs) > 0 {
			t.Error(errs)
		}
		other := load(t, "snowfence-2", v).deployment.Spec.Template.Labels
		job := r.job.Spec.Template.Labels
		choose := func(what string, s *metav1.LabelSelector) {
			m, err := metav1.LabelSelectorAsSelector(s)
			reaches := strings.HasSuffix(what, "egress")
			if err == nil && job != nil && reaches != m.Matches(labels.Set(job)) {
				t.Errorf("%s: %v: pods of the job have %v", what, m, job)
			}
			if err != nil || !m.Matches(labels.Set(pod.Labels)) || m.Matches(labels.Set(other)) || m.Empty() {
				t.Errorf("%s: %v, %v: pods have %v, another release's %v", what, m, err, pod.Labels, other)
			}
		}
		choose("deployment", r.deployment.Spec.Selector)
		choose("spread", pod.Spec.TopologySpreadConstraints[0].LabelSelector)
		choose("budget", r.budget.Spec.Selector)
		for _, s := range r.services {
			choose("service "+s.Name, &metav1.LabelSelector{MatchLabels: s.Spec.Selector})
		}
		for _, p := range r.policies {
			choose("policy "+p.Name, &p.Spec.PodSelector)
		}
	})
}

// Without a secret, the pods have an account that may keep leases in their
// namespace, and nothing else. With one, they have no token.
func TestAccount(t *testing.T) {
	both(t, func(t *testing.T, v values, r *release) {
		pod, want := r.deployment.Spec.Template.Spec, r.account.Name
		if v["store"] != nil {
			if want != "" || pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
				t.Errorf("pods over another store have the account %q, or a token", want)
			}
			return
		}
		of := rbacv1.Subject{Kind: "ServiceAccount", Name: want, Namespace: "ids"}
		ref := rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: r.role.Name}
		bound := slices.Equal(r.binding.Subjects, []rbacv1.Subject{of}) && r.binding.RoleRef == ref
		if pod.ServiceAccountName != want || !bound {
			t.Errorf("pods have the account %q, which is %q, and %v binds it", pod.ServiceAccountName, want, r.binding)
		}
		if len(r.role.Rules) != 1 || !slices.Equal(r.role.Rules[0].Resources, []string{"leases"}) ||
			!slices.Equal(r.role.Rules[0].Verbs, []string{"get", "list", "create", "update"}) {
			t.Errorf("the account may do %v", r.role.Rules)
		}
	})
}

// Every port and volume that is named is there, and each is named once.
func TestNamesInPods(t *testing.T) {
	both(t, func(t *testing.T, _ values, r *release) {
		if r.job.Name != "" {
			checkVolumes(t, &r.job.Spec.Template.Spec)
		}
		pod := r.deployment.Spec.Template.Spec
		checkVolumes(t, &pod)
		ports := map[string]bool{}
		for _, c := range pod.Containers {
			for _, p := range c.Ports {
				ports[p.Name] = true
			}
			for _, p := range []*corev1.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
				if !ports[p.HTTPGet.Port.StrVal] {
					t.Errorf("a probe asks %v", p.HTTPGet.Port)
				}
			}
		}
		named := func(what string, p *intstr.IntOrString) {
			if p == nil || !ports[p.StrVal] {
				t.Errorf("%s: no port %v in %v", what, p, ports)
			}
		}
		for _, s := range r.services {
			for _, p := range s.Spec.Ports {
				named(s.Name, &p.TargetPort)
			}
		}
		for _, p := range r.policies {
			for _, in := range p.Spec.Ingress {
				for _, port := range in.Ports {
					named(p.Name, port.Port)
				}
			}
		}
	})
}

// checkVolumes looks whether each container mounts volumes that are there,
// and some container each.
func checkVolumes(t *testing.T, pod *corev1.PodSpec) {
	t.Helper()
	volumes, mounted := map[string]bool{}, map[string]bool{}
	for _, v := range pod.Volumes {
		if volumes[v.Name] {
			t.Errorf("two volumes are %s", v.Name)
		}
		volumes[v.Name] = true
	}
	for _, c := range pod.Containers {
		paths := map[string]bool{}
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] || paths[m.MountPath] {
				t.Errorf("%s at %s: no such volume, or two at one path", m.Name, m.MountPath)
			}
			paths[m.MountPath], mounted[m.Name] = true, true
		}
	}
	if len(mounted) != len(volumes) {
		t.Errorf("mounted are %v of %v", mounted, volumes)
	}
}

// The pods meet the strictest standard for pods.
func TestPodSecurity(t *testing.T) {
	checks := must(policy.NewEvaluator(policy.DefaultChecks(), nil))
	level := podsecurity.LevelVersion{Level: podsecurity.LevelRestricted, Version: podsecurity.LatestVersion()}
	both(t, func(t *testing.T, _ values, r *release) {
		pods := []corev1.PodTemplateSpec{r.deployment.Spec.Template, r.job.Spec.Template}
		if r.job.Name == "" {
			pods = pods[:1]
		}
		for _, pod := range pods {
			for _, result := range checks.EvaluatePod(level, &pod.ObjectMeta, &pod.Spec) {
				if !result.Allowed {
					t.Errorf("%s: %s", result.ForbiddenReason, result.ForbiddenDetail)
				}
			}
		}
	})
}

// A monitor has fields that its type has, chooses one service, and a port
// that pods have.
func TestServiceMonitor(t *testing.T) {
	schema := must(jsonschema.UnmarshalJSON(bytes.NewReader(read(t, "testdata/servicemonitor.json"))))
	c := jsonschema.NewCompiler()
	if err := c.AddResource("monitor", closed(schema)); err != nil {
		t.Fatal(err)
	}
	check := must(c.Compile("monitor"))
	r := load(t, "snowfence", parse(t, everything))
	if err := check.Validate(map[string]any(r.monitor)); err != nil {
		t.Error(err)
	}
	var spec struct {
		Selector  metav1.LabelSelector
		Endpoints []struct{ Port string }
	}
	text, err := json.Marshal(r.monitor["spec"])
	if err == nil {
		err = json.Unmarshal(text, &spec)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := must(metav1.LabelSelectorAsSelector(&spec.Selector))
	chosen, ports := 0, 0
	for _, service := range r.services {
		if s.Matches(labels.Set(service.Labels)) {
			chosen++
			for _, p := range service.Spec.Ports {
				if p.Name == spec.Endpoints[0].Port {
					ports++
				}
			}
		}
	}
	if chosen != 1 || ports != 1 {
		t.Errorf("%v chooses %d services and %d ports of %v: no pod, or each twice", s, chosen, ports, spec.Endpoints)
	}
	// The schema notices what is wrong.
	at[object](t, r.monitor, "spec.endpoints.0")["prot"] = "admin"
	if check.Validate(map[string]any(r.monitor)) == nil {
		t.Error("a misspelled field is accepted")
	}
}

// closed refuses fields that a schema does not name. Kubernetes would drop
// them in silence.
func closed(schema any) any {
	switch x := schema.(type) {
	case []any:
		for i := range x {
			x[i] = closed(x[i])
		}
	case map[string]any:
		for k := range x {
			x[k] = closed(x[k])
		}
		if x["properties"] != nil && x["type"] == "object" {
			x["additionalProperties"] = false
		}
	}
	return schema
}
