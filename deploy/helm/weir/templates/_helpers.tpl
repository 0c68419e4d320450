{{/* Name of everything; the part follows a hyphen. */}}
{{- define "weir.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{/* Labels that select the Pods of a part: dict "root" . "part" "web". */}}
{{- define "weir.selector" -}}
app.kubernetes.io/name: weir
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "weir.labels" -}}
{{ include "weir.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- define "weir.host" -}}
{{- (urlParse .Values.publicUrl).host -}}
{{- end }}

{{/* Names by which the web server is reached. */}}
{{- define "weir.hosts" -}}
{{ regexReplaceAll ":[0-9]+$" (include "weir.host" .) "" }},{{ include "weir.name" . }}-web
{{- end }}

{{- define "weir.claim" -}}
{{- .Values.storage.existingClaim | default (include "weir.name" .) -}}
{{- end }}

{{/* Every Pod of ours runs as the image's user, with a root file system that nobody writes. */}}
{{- define "weir.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "weir.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* Settings from the ConfigMap, then secrets; addresses of the own queue and database contain their passwords by reference. */}}
{{- define "weir.environment" -}}
envFrom:
  - configMapRef:
      name: {{ include "weir.name" . }}
  - secretRef:
      name: {{ .Values.existingSecret }}
env:
  {{- if .Values.queue.enabled }}
  - name: REDIS_PASSWORD
    valueFrom: {secretKeyRef: {name: {{ .Values.existingSecret }}, key: REDIS_PASSWORD}}
  - name: WEIR_REDIS_URL
    value: redis://:$(REDIS_PASSWORD)@{{ include "weir.name" . }}-queue:6379/0
  {{- end }}
  {{- if .Values.database.enabled }}
  - name: POSTGRES_PASSWORD
    valueFrom: {secretKeyRef: {name: {{ .Values.existingSecret }}, key: POSTGRES_PASSWORD}}
  - name: WEIR_DATABASE_URL
    value: postgresql://weir:$(POSTGRES_PASSWORD)@{{ include "weir.name" . }}-database:5432/weir
  {{- end }}
{{- end }}

{{- define "weir.mounts" -}}
volumeMounts:
  - {name: state, mountPath: /var/lib/weir}
  - {name: tmp, mountPath: /tmp}
  {{- if .Values.sources }}
  - {name: sources, mountPath: /etc/weir, readOnly: true}
  {{- end }}
{{- end }}

{{- define "weir.volumes" -}}
volumes:
  - name: state
    {{- if .Values.storage.uri }}
    emptyDir: {}
    {{- else }}
    persistentVolumeClaim:
      claimName: {{ include "weir.claim" . }}
    {{- end }}
  - name: tmp
    emptyDir: {}
  {{- if .Values.sources }}
  - name: sources
    configMap:
      name: {{ include "weir.name" . }}-sources
  {{- end }}
{{- end }}

{{- define "weir.placement" -}}
{{- with .Values.images.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "weir.image" -}}
{{ index .root.Values.images .image }}:{{ .root.Values.images.tag }}
{{- end }}

{{/* Until the tables are those of this release; exits with 1 until then and is started again. */}}
{{- define "weir.waits" -}}
- name: wait-for-schema
  image: {{ include "weir.image" . }}
  imagePullPolicy: {{ .root.Values.images.pullPolicy }}
  command: [sh, -c, "until python manage.py migrate --check >/dev/null 2>&1; do sleep 3; done"]
  securityContext:
    {{- include "weir.containerSecurity" .root | nindent 4 }}
  resources:
    {{- toYaml .root.Values.beat.resources | nindent 4 }}
  {{- include "weir.environment" .root | nindent 2 }}
  {{- include "weir.mounts" .root | nindent 2 }}
{{- end }}
