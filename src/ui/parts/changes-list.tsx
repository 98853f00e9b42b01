import type { ComponentChildren } from 'preact'
import { t } from '../core/text.ts'
import { Badge, type Tone } from './basic.tsx'

export interface Change {
  readonly id: string
  readonly op: 'create' | 'update' | 'delete'
  readonly resource: string
  readonly resourceId: string
  readonly name: string
  readonly by: string
  readonly at: string
  readonly before?: Readonly<Record<string, unknown>> | null
  readonly after?: Readonly<Record<string, unknown>> | null
  readonly effect: string
  readonly services: readonly string[]
}

export interface FileDiff {
  readonly path: string
  readonly diff: string
}

const SIGNS = { create: '+', update: '~', delete: '−' } as const
/** Display names of the kinds of records that change most often. */
const KINDS: Readonly<Record<string, string>> = {
  realServers: 'server',
  l7Frontends: 'Layer 7 frontend',
  l7Backends: 'Layer 7 backend',
  l4Frontends: 'Layer 4 frontend',
  l4Backends: 'Layer 4 backend',
  certificates: 'certificate',
  healthChecks: 'health check',
  floatingIps: 'floating IP',
  users: 'user',
  roles: 'role',
}
const TONES: Readonly<Record<string, Tone>> = { runtime: 'good', reload: 'warn', restart: 'bad', network: 'bad' }

const shown = (value: unknown): string => {
  if (value === undefined || value === null) return '–'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}

/** Records with their old and new values. */
export const ChangesList = ({
  changes,
  action,
}: {
  readonly changes: readonly Change[]
  readonly action?: (change: Change) => ComponentChildren
}) => (
  <ul class="changes">
    {changes.map((change) => {
      const { id, op, resource, name, by, before, after, effect } = change
      const fields = op === 'update' ? Object.keys({ ...before, ...after }) : []
      return (
        <li key={id} class={`change ${op}`}>
          <div class="change-head">
            <span class="sign" aria-label={op}>
              {SIGNS[op]}
            </span>
            <strong>
              <bdi>{name}</bdi>
            </strong>
            <span class="hint">{t(KINDS[resource] ?? resource)}</span>
            {effect === '' ? null : <Badge tone={TONES[effect] ?? 'idle'}>{effect}</Badge>}
            <span class="hint by">{by}</span>
            {action?.(change)}
          </div>
          {fields.length === 0 ? null : (
            <dl class="diff-fields">
              {fields.map((field) => (
                <div key={field}>
                  <dt>{field}</dt>
                  <dd>
                    <del>{shown(before?.[field])}</del> <span aria-hidden="true">→</span>{' '}
                    <ins>{shown(after?.[field])}</ins>
                  </dd>
                </div>
              ))}
            </dl>
          )}
        </li>
      )
    })}
  </ul>
)

const classOf = (line: string) =>
  line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : line.startsWith('@') ? 'place' : undefined

/** Differences of generated files, line by line. */
export const Diffs = ({ files }: { readonly files: readonly FileDiff[] }) => (
  <>
    {files.map(({ path, diff }) => (
      <details key={path} class="file-diff" open={files.length === 1}>
        <summary>{path.slice(path.lastIndexOf('/') + 1)}</summary>
        <pre class="code block" tabIndex={0} aria-label={t('Changes in {path}', { path })}>
          {diff
            .trimEnd()
            .split('\n')
            .slice(4)
            .map((line, at) => (
              <span key={at} class={classOf(line)}>{`${line}\n`}</span>
            ))}
        </pre>
      </details>
    ))}
  </>
)
