{{- define "snowfence.name" -}}
{{- $long := .Release.Name }}
{{- if not (contains .Chart.Name $long) }}{{ $long = printf "%s-%s" $long .Chart.Name }}{{ end -}}
{{- .Values.fullnameOverride | default $long | trunc 53 | trimSuffix "-" }}
{{- end }}

{{- define "snowfence.selector" -}}
app.kubernetes.io/name: snowfence
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "snowfence.part" -}}
app.kubernetes.io/part-of: snowfence
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "snowfence.labels" -}}
{{ include "snowfence.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "snowfence.settings" -}}
http: 0.0.0.0:8443
resp: 0.0.0.0:6380
admin: 0.0.0.0:9090
# Everybody who reaches this port can read metrics and health. The network policy lets only Prometheus in.
open-to-network: [admin]
tls-cert: /etc/snowfence/tls/tls.crt
tls-key: /etc/snowfence/tls/tls.key
{{- if .Values.tls.clientCertificates }}
tls-client-ca: /etc/snowfence/tls/ca.crt
{{- end }}
tokens: /etc/snowfence/tokens/tokens.yaml
{{- with .Values.encrypted.namespaces }}
secret:
{{- range $namespace, $keys := . }}
  {{ $namespace | quote }}: {{ printf "/etc/snowfence/secrets/%s" ($keys | join ":/etc/snowfence/secrets/") | quote }}
{{- end }}
{{- end }}
{{- with .Values.settings }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "snowfence.grace" -}}
{{- $drain := get .Values.settings "drain" | default "0s" | trimSuffix "s" | atoi }}
{{- $stop := get .Values.settings "stop-timeout" | default "10s" | trimSuffix "s" | atoi }}
{{- add $drain $stop 15 }}
{{- end }}

{{- define "snowfence.pod" -}}
{{- if .Values.store.secret }}
automountServiceAccountToken: false
{{- else }}
serviceAccountName: {{ include "snowfence.name" . }}
{{- end }}
enableServiceLinks: false # a service named snowfence-store would set SNOWFENCE_STORE_PORT and the like
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "snowfence.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"
{{- with .Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{- define "snowfence.store" -}}
{{- if .Values.store.secret }}
- name: SNOWFENCE_STORE
  valueFrom:
    secretKeyRef: {name: {{ .Values.store.secret | quote }}, key: {{ .Values.store.key | quote }}}
{{- else }}
- {name: SNOWFENCE_STORE, value: "kubernetes://"}
{{- end }}
{{- with .Values.env }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "snowfence.mounts" -}}
- {name: secrets, mountPath: /etc/snowfence/secrets, readOnly: true}
{{- with .Values.volumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "snowfence.volumes" -}}
- name: secrets # of encrypted namespaces
  secret: {secretName: {{ .Values.encrypted.secret | quote }}, defaultMode: 0440, optional: true}
{{- with .Values.volumes }}
{{ toYaml . }}
{{- end }}
{{- end }}
