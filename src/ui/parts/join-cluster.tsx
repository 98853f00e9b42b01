import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { ask } from '../core/api.ts'
import { lookAtCluster } from '../core/cluster.ts'
import { changed, overview } from '../core/live.ts'
import { isSame } from '../core/merge.ts'
import { may } from '../core/rights.ts'
import { forget, loginNotice } from '../core/session.ts'
import { t } from '../core/text.ts'
import { useUnsaved } from '../core/unsaved.ts'
import { Badge, Button, Card, Empty, PageHead } from './basic.tsx'
import { type Refusal, useDoing } from './doing.ts'
import { FormProblems } from './form-problems.tsx'
import { labelOf } from './form.tsx'
import { say } from './toast.tsx'

/** Forms a cluster with a node that is in none, or joins one. */
export function JoinCluster() {
  const name = overview.value?.nodes.find(({ isSelf }) => isSelf)?.name ?? ''
  const isAllowed = may('POST /cluster', 'POST /cluster/join')
  return (
    <>
      <PageHead title={t('Cluster')} hint={t('Up to five nodes share one configuration, users and sessions.')} />
      <Card>
        <Empty title={t('This node is not in a cluster.')}>
          <p>
            {t('Traffic does not depend on the cluster. In a cluster, another node takes over when this one fails.')}
            {isAllowed ? '' : ` ${t('You do not have permission to create or join a cluster.')}`}
          </p>
        </Empty>
      </Card>
      {isAllowed ? (
        <div class="columns even">
          {may('POST /cluster') ? <Begin node={name} /> : null}
          {may('POST /cluster/join') ? <Join node={name} /> : null}
        </div>
      ) : null}
    </>
  )
}

/**
 * Returns the address at which others most likely reach the node: the host of this page, and its port plus one. A trial
 * listens on this machine only.
 */
const ownAddress = (): string => `${location.hostname}:${Number(location.port || 9443) + 1}`

function Begin({ node }: { readonly node: string }) {
  const begun = { name: '', address: ownAddress(), nodeName: node }
  const values = useSignal<Values>(begun)
  useUnsaved(!isSame(values.value, begun))
  const { isBusy, refusal, run } = useDoing()
  const begin = () =>
    run(async () => {
      say((await ask('POST', '/cluster', { body: withoutSpaces(values.value) })).message)
      await Promise.all([lookAtCluster(), changed()])
    })
  return (
    <Card title={t('Create a cluster')}>
      <p class="hint">{t('This node becomes its first member; others join with a token. Traffic is not affected.')}</p>
      <Inputs
        values={values.value}
        names={['name', 'address', 'nodeName']}
        refusal={refusal.value}
        onChange={(next) => (values.value = next)}
        onSubmit={() => void begin()}
      >
        <Button kind="main" type="submit" isBusy={isBusy.value}>
          {t('Create')}
        </Button>
      </Inputs>
    </Card>
  )
}

interface Preview {
  readonly name: string
  readonly version: string
  readonly nodes: readonly { readonly id: string; readonly name: string; readonly address: string }[]
  readonly brings: readonly { readonly resource: string; readonly name: string }[]
  readonly reachable: boolean
  readonly why?: string
}

/** Shows first which cluster would be joined, and which records the node brings. */
function Join({ node }: { readonly node: string }) {
  const begun = { token: '', address: ownAddress(), nodeName: node }
  const values = useSignal<Values>(begun)
  useUnsaved(!isSame(values.value, begun))
  const preview = useSignal<Preview | undefined>(undefined)
  const { isBusy, refusal, run } = useDoing()
  const send = (isLook: boolean) =>
    run(async () => {
      const sent = withoutSpaces(values.value)
      const body = isLook ? { ...sent, dryRun: true } : sent
      const { data } = await ask<Preview>('POST', '/cluster/join', { body })
      if (isLook) preview.value = data
      else {
        // Earlier sessions do not exist in the cluster.
        const name = preview.value?.name ?? ''
        loginNotice.value = {
          tone: 'good',
          text: t('This node has joined {name}. Log in with a user of the cluster.', { name }),
        }
        forget()
      }
    })
  const seen = preview.value
  return (
    <Card title={t('Join a cluster')}>
      <p class="hint">{t('With a token from a node of the cluster: Cluster, “Add a node”.')}</p>
      <Inputs
        values={values.value}
        names={['token', 'address', 'nodeName']}
        refusal={refusal.value}
        onChange={(next) => {
          values.value = next
          preview.value = undefined
        }}
        onSubmit={() => void send(seen === undefined)}
      >
        {seen === undefined ? null : <Seen seen={seen} />}
        <Button kind={seen === undefined ? 'main' : 'danger'} type="submit" isBusy={isBusy.value}>
          {seen === undefined ? t('Preview') : t('Join {name}', { name: seen.name })}
        </Button>
      </Inputs>
    </Card>
  )
}

const Seen = ({ seen: { name, nodes, brings, reachable, why, version } }: { readonly seen: Preview }) => (
  <section class="problem block warn" aria-live="polite">
    <p>
      <strong>
        <bdi>{name}</bdi>
      </strong>{' '}
      {version} · {nodes.map((one) => one.name).join(', ')}{' '}
      <Badge tone={reachable ? 'good' : 'bad'}>
        {reachable ? t('can reach this node') : t('cannot reach this node')}
      </Badge>
    </p>
    {why === undefined ? null : <p>{why}</p>}
    <ul>
      <li>{t('The configuration and users of the cluster replace those of this node. Make a backup first.')}</li>
      <li>
        {brings.length === 0
          ? t('Nothing of this node is kept.')
          : t('Records of this node alone are kept: {names}', { names: brings.map((one) => one.name).join(', ') })}
      </li>
      <li>{t('You will have to log in again, with a user of the cluster.')}</li>
    </ul>
  </section>
)

type Values = Readonly<Record<string, string>>

/** Removes the spaces that were pasted along. */
const withoutSpaces = (values: Values): Values =>
  Object.fromEntries(Object.entries(values).map(([name, text]) => [name, text.trim()]))

const TITLES: Readonly<Record<string, () => string>> = {
  name: () => t('Name of the cluster'),
  token: () => t('Token'),
  address: () => t('Address for other nodes'),
  nodeName: () => t('Name of this node'),
}

function Inputs({
  values,
  names,
  refusal,
  onChange,
  onSubmit,
  children,
}: {
  readonly values: Values
  readonly names: readonly string[]
  readonly refusal: Refusal | undefined
  readonly onChange: (values: Values) => void
  readonly onSubmit: () => void
  readonly children: ComponentChildren
}) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
    >
      <FormProblems error={refusal?.message} errors={refusal?.errors ?? []} />
      {names.map((name) => {
        const errors = (refusal?.errors ?? []).filter(({ field }) => field === name)
        return (
          <label key={name} class="field">
            {TITLES[name]?.() ?? labelOf(name)}
            <input
              type="text"
              name={`cluster-${name}`}
              autocomplete="off"
              required
              aria-invalid={errors.length > 0}
              value={values[name] ?? ''}
              onInput={(event) => onChange({ ...values, [name]: event.currentTarget.value })}
            />
            {errors.map(({ message }) => (
              <strong key={message} class="error">
                {message}
              </strong>
            ))}
          </label>
        )
      })}
      {children}
    </form>
  )
}
