import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { ask } from '../core/api.ts'
import { cluster, membersOf } from '../core/cluster.ts'
import { clock, t } from '../core/text.ts'
import { shownOnce, useUnsaved } from '../core/unsaved.ts'
import { Badge, Button, Choice, Problem } from './basic.tsx'
import { Dialog } from './dialog.tsx'
import { useDoing } from './doing.ts'
import { Icon } from './icon.tsx'

type Role = 'node' | 'witness'
interface Issued {
  readonly token: string
  readonly expiresAt: string
}

const HOUR_S = 3_600

/** Guides from the token issued here, to be pasted on the other node, to the node that votes. */
export function LetJoin({ onClose }: { readonly onClose: () => void }) {
  const role = useSignal<Role>('node')
  const hours = useSignal('1')
  const issued = useSignal<Issued | undefined>(undefined)
  const { isBusy, refusal, run } = useDoing()
  const before = useSignal<ReadonlySet<string>>(new Set())
  const make = () =>
    run(async () => {
      before.value = new Set(cluster.value === null || cluster.value === undefined ? [] : idsOf(cluster.value))
      const body = { role: role.value, validFor: Number(hours.value) * HOUR_S }
      issued.value = (await ask<Issued>('POST', '/cluster/tokens', { body })).data
    })
  const come = cluster.value === null || cluster.value === undefined ? [] : membersOf(cluster.value)
  const joined = come.find(({ id }) => issued.value !== undefined && !before.value.has(id))
  const isDone = joined?.isVoter === true && joined.state === 'online'
  return (
    <Dialog
      title={t('Add a node')}
      onClose={onClose}
      foot={
        <Button kind={isDone ? 'main' : 'plain'} onClick={onClose}>
          {isDone ? t('Done') : t('Close')}
        </Button>
      }
    >
      <Problem text={refusal.value?.message} />
      <ol class="steps">
        <Step title={t('Create a token here')} isDone={issued.value !== undefined} isNow={issued.value === undefined}>
          {issued.value === undefined ? (
            <>
              <Choice
                label={t('Kind of member')}
                value={role.value}
                options={[
                  ['node', t('A node')],
                  ['witness', t('A witness')],
                ]}
                onChange={(next) => (role.value = next)}
              />
              <p class="hint">
                {role.value === 'node'
                  ? t('It takes over the configuration and users of this cluster, and serves the same services.')
                  : t('A third vote at another site, without configuration or traffic. Recommended for two nodes.')}
              </p>
              <Choice
                label={t('Valid for')}
                value={hours.value}
                options={[
                  ['1', t('1 hour')],
                  ['24', t('1 day')],
                ]}
                onChange={(next) => (hours.value = next)}
              />
              <Button kind="main" isBusy={isBusy.value} onClick={() => void make()}>
                {t('Create the token')}
              </Button>
            </>
          ) : (
            <p class="hint">{t('Valid for one node, until {time}.', { time: clock(issued.value.expiresAt) })}</p>
          )}
        </Step>
        <Step
          title={t('Paste it on the other machine')}
          isDone={joined !== undefined}
          isNow={issued.value !== undefined && joined === undefined}
        >
          {issued.value === undefined || joined !== undefined ? null : (
            <Pasting token={issued.value.token} role={role.value} />
          )}
        </Step>
        <Step
          title={joined === undefined ? t('The node joins') : t('{name} has joined', { name: joined.name })}
          isDone={joined !== undefined}
          isNow={issued.value !== undefined && joined === undefined}
        >
          {issued.value !== undefined && joined === undefined ? (
            <p class="hint">{t('Waiting for the node. You can close this dialog.')}</p>
          ) : null}
        </Step>
        <Step title={t('The node is up to date and votes')} isDone={isDone} isNow={joined !== undefined && !isDone}>
          {joined === undefined || isDone ? null : (
            <p>
              <Badge tone={joined.state === 'online' ? 'good' : 'idle'}>{t(joined.state)}</Badge>{' '}
              <span class="hint">{t('The node gets its vote as soon as it is up to date.')}</span>
            </p>
          )}
        </Step>
      </ol>
      <p class="hidden" role="status">
        {isDone ? t('{name} has joined', { name: joined.name }) : ''}
      </p>
    </Dialog>
  )
}

const idsOf = (known: NonNullable<typeof cluster.value>): readonly string[] => membersOf(known).map(({ id }) => id)

const Step = ({
  title,
  isDone,
  isNow,
  children,
}: {
  readonly title: string
  readonly isDone: boolean
  readonly isNow: boolean
  readonly children?: ComponentChildren
}) => (
  <li class={isDone ? 'done' : isNow ? 'now' : ''} aria-current={isNow ? 'step' : undefined}>
    <strong>
      {isDone ? <Icon name="check" /> : null}
      <bdi>{title}</bdi>
    </strong>
    {children}
  </li>
)

function Pasting({ token, role }: { readonly token: string; readonly role: Role }) {
  const isKept = useSignal(false)
  useUnsaved(!isKept.value, shownOnce())
  const isCopied = useSignal(false)
  const field = useRef<HTMLTextAreaElement>(null)
  useEffect(() => {
    if (!isCopied.value) return undefined
    const timer = setTimeout(() => (isCopied.value = false), 3_000)
    return () => clearTimeout(timer)
  }, [isCopied.value])
  async function copy() {
    try {
      await navigator.clipboard.writeText(token)
    } catch {
      // The browser does not allow it: the user copies the selected token with the keyboard.
      field.current?.focus()
      return
    }
    isCopied.value = true
    isKept.value = true
  }
  return (
    <>
      <label class="field">
        {t('Token, shown only once')}
        <textarea
          ref={field}
          class="code"
          readOnly
          rows={3}
          value={token}
          onFocus={(event) => event.currentTarget.select()}
        />
      </label>
      <Button icon={isCopied.value ? 'check' : 'copy'} onClick={() => void copy()}>
        {isCopied.value ? t('Copied') : t('Copy')}
      </Button>
      {role === 'node' ? (
        <>
          <p>{t('Open the page of the other machine, go to Cluster, and paste the token under “Join a cluster”.')}</p>
          <p>{t('Or use its command line, which reads the token from standard input:')}</p>
          <pre class="code block wraps">{'fulcrum cluster join - \\\n  --address HOST:9444 --node-name NAME'}</pre>
        </>
      ) : (
        <>
          <p>{t('On the machine of the witness, as root; the daemon there waits for the file:')}</p>
          <pre class="code block wraps">umask 077; cat &gt; /var/lib/fulcrum/join-token</pre>
        </>
      )}
    </>
  )
}
