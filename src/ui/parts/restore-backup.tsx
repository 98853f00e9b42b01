import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useId } from 'preact/hooks'
import { ask, read } from '../core/api.ts'
import { changed, overview } from '../core/live.ts'
import { shownValue } from '../core/merge.ts'
import { may } from '../core/rights.ts'
import { api, loadApi } from '../core/schema.ts'
import { t } from '../core/text.ts'
import { Button, Choice, Loading, Problem } from './basic.tsx'
import { Dialog } from './dialog.tsx'
import { type Refusal, useDoing } from './doing.ts'
import { FormProblems } from './form-problems.tsx'
import { Fields } from './form.tsx'
import { isPendingOpen } from './pending.tsx'
import { say } from './toast.tsx'

/** A backup in the list of `GET /backup/list`. */
export interface Backup {
  readonly file: string
  readonly dateTime: string
  readonly nodes: readonly { readonly id: string; readonly hostname: string }[]
  readonly sections: readonly { readonly name: string; readonly nameFull: string; readonly partRestore: boolean }[]
}

interface Job {
  readonly state: 'running' | 'succeeded' | 'failed' | 'cancelled'
  readonly step: string
  readonly log: readonly string[]
  readonly result: { readonly warnings: readonly string[] } | null
  readonly problem: { readonly message: string } | null
}

interface RestoreProps {
  readonly backup: Backup
  readonly onClose: () => void
}

/** The characters that a header can hold: no passphrase of a backup has others. */
const PASSPHRASE = /^[ -~]*$/
const LOOK_MS = 1_000

/**
 * Chooses the parts of a backup to restore, and explains the effect. A restore is staged: its changes are shown before
 * they are live.
 */
export function RestoreBackup({ backup, onClose }: RestoreProps) {
  const isWhole = useSignal(false)
  const sections = useSignal<ReadonlySet<string>>(new Set())
  const passphrase = useSignal('')
  /** Further fields of the body. */
  const part = useSignal<Values>({})
  const whole = useSignal<Values>({})
  /**
   * Read while rendering: the id of a right is computed on first use, so in `restore` the answer would come too late.
   */
  const job = useSignal<string | undefined>(undefined)
  const { isBusy, refusal, run } = useDoing()
  // Asked for here, because an id is computed on first use and the answer comes later.
  const [mayFollow, maySeePending] = [may('GET /jobs/{id}'), may('GET /services/pending')]
  const showPending = () => {
    onClose()
    isPendingOpen.value = maySeePending
  }
  const restore = () =>
    run(async () => {
      if (!PASSPHRASE.test(passphrase.value))
        throw new Error(t('The passphrase of a backup consists of printable ASCII characters.'))
      const wanted = isWhole.value ? whole.value : { sections: [...sections.value], ...part.value }
      const headers = passphrase.value === '' ? {} : { 'x-backup-passphrase': passphrase.value }
      const answer = await ask('POST', '/backup/restore', { body: { file: backup.file, ...wanted }, headers })
      say(answer.message)
      await changed()
      if (answer.job !== undefined && mayFollow) job.value = answer.job
      else showPending()
    })
  const title = t('Restore {name}', { name: backup.file })
  if (job.value !== undefined) return <Checked title={title} job={job.value} onClose={onClose} onShow={showPending} />
  return (
    <Dialog
      title={title}
      onClose={onClose}
      isUnsaved={passphrase.value !== '' || Object.keys(whole.value).length > 0}
      foot={
        <>
          <Button onClick={onClose}>{t('Cancel')}</Button>
          <Button
            kind="main"
            needs="POST /backup/restore"
            isBusy={isBusy.value}
            disabled={!isWhole.value && sections.value.size === 0}
            onClick={() => void restore()}
          >
            {t('Stage')}
          </Button>
        </>
      }
    >
      <FormProblems error={refusal.value?.message} errors={refusal.value?.errors ?? []} />
      {(overview.value?.quorum ?? null) === null ? (
        <Choice
          label={t('What to restore')}
          value={isWhole.value ? 'all' : 'some'}
          options={[
            ['some', t('Some sections')],
            ['all', t('Everything')],
          ]}
          onChange={(next) => (isWhole.value = next === 'all')}
        />
      ) : null}
      {isWhole.value ? (
        <Whole backup={backup} values={whole} refusal={refusal.value} />
      ) : (
        <Sections backup={backup} sections={sections} values={part} />
      )}
      <label class="field">
        {t('Passphrase, if the backup has one')}
        <input
          type="password"
          autocomplete="off"
          value={passphrase.value}
          onInput={(event) => (passphrase.value = event.currentTarget.value)}
        />
      </label>
      <ul class="bullets">
        {meaningOf(isWhole.value, sections.value).map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </Dialog>
  )
}

type Values = Readonly<Record<string, unknown>>

function meaningOf(isWhole: boolean, sections: ReadonlySet<string>): readonly string[] {
  const isStaged = t('Nothing goes live yet: you see the changes next, and they stay pending until you apply them.')
  if (isWhole)
    return [
      t(
        'This machine becomes that node of the backup, with its services, certificates, users, addresses and settings.',
      ),
      t('Everything added since is removed, and pending changes are replaced.'),
      t('Floating IPs stay disabled until you enable them.'),
      t('After the apply, log in with a user and password from the backup.'),
      t('A job validates everything with every program.'),
      isStaged,
    ]
  return [
    t(
      'The selected sections are restored: what was added to them since is removed, and their pending changes are replaced.',
    ),
    ...(sections.has('rbac') ? [t('After the apply, users, passwords and roles are those of the backup.')] : []),
    isStaged,
  ]
}

/** Sections that the specification gives to a backup file, and for which Fulcrum has no records to restore. */
const WITHOUT_RECORDS: ReadonlySet<string> = new Set(['gslb', 'fallbackServer'])

function Sections({
  backup,
  sections,
  values,
}: {
  readonly backup: Backup
  readonly sections: Signal<ReadonlySet<string>>
  readonly values: Signal<Values>
}) {
  const tick = (name: string, isTicked: boolean) => {
    const next = new Set(sections.value)
    if (isTicked) next.add(name)
    else next.delete(name)
    sections.value = next
    if (!next.has('fip')) values.value = {}
  }
  return (
    <>
      <fieldset>
        <legend>{t('Sections')}</legend>
        {backup.sections
          .filter(({ name, partRestore }) => partRestore && !WITHOUT_RECORDS.has(name))
          .map(({ name, nameFull }) => (
            <Tick key={name} text={t(nameFull)} isOn={sections.value.has(name)} onChange={(isOn) => tick(name, isOn)} />
          ))}
      </fieldset>
      {sections.value.has('fip') ? (
        <Tick
          text={t('Enable the floating IPs that were enabled')}
          isOn={values.value['fipActive'] === true}
          onChange={(isOn) => (values.value = isOn ? { fipActive: true } : {})}
        />
      ) : null}
    </>
  )
}

function Tick({
  text,
  isOn,
  onChange,
}: {
  readonly text: string
  readonly isOn: boolean
  readonly onChange: (isOn: boolean) => void
}) {
  const id = useId()
  return (
    <div class="field switch">
      <input id={id} type="checkbox" checked={isOn} onChange={(event) => onChange(event.currentTarget.checked)} />
      <label for={id}>{text}</label>
    </div>
  )
}

/** The address of the machine after the restore, whatever the backup says. */
const ELSEWHERE = ['ip', 'mask', 'gateway', 'interface'] as const

function Whole({
  backup: { nodes },
  values,
  refusal,
}: {
  readonly backup: Backup
  readonly values: Signal<Values>
  readonly refusal: Refusal | undefined
}) {
  useEffect(() => void loadApi(), [])
  const properties = api.value?.whole(api.value.operations.get('backups.restore')?.body ?? {}).properties ?? {}
  const fields = Object.fromEntries(ELSEWHERE.flatMap((name) => (properties[name] ? [[name, properties[name]]] : [])))
  return (
    <>
      {nodes.length < 2 ? null : (
        <label class="field">
          {t('Node in the backup')}
          <select
            value={shownValue(values.value['nodeId'])}
            onChange={({ currentTarget: { value } }) =>
              (values.value = { ...values.value, nodeId: value || undefined })
            }
          >
            <option value="">–</option>
            {nodes.map(({ id, hostname }) => (
              <option key={id} value={id}>
                {hostname || id}
              </option>
            ))}
          </select>
        </label>
      )}
      <details class="late">
        <summary>{t('Use a different address than in the backup')}</summary>
        <Fields
          schema={{ type: 'object', properties: fields }}
          value={values.value}
          first={ELSEWHERE}
          errors={refusal?.errors ?? []}
          onChange={(next) => (values.value = next)}
        />
      </details>
    </>
  )
}

/** Progress of the check, and its findings. */
function Checked({
  title,
  job,
  onClose,
  onShow,
}: {
  readonly title: string
  readonly job: string
  readonly onClose: () => void
  readonly onShow: () => void
}) {
  const told = useSignal<Job | undefined>(undefined)
  useEffect(() => {
    let isOver = false
    let timer: ReturnType<typeof setTimeout> | undefined
    async function look(): Promise<void> {
      const now = await read<Job>(`/jobs/${job}`).catch(() => undefined)
      if (isOver) return
      if (now !== undefined) told.value = now
      if (now === undefined || now.state === 'running') timer = setTimeout(() => void look(), LOOK_MS)
      // For a user who may not see the overview, nothing else reports this change.
      else await changed()
    }
    void look()
    return () => {
      isOver = true
      clearTimeout(timer)
    }
  }, [job])
  const now = told.value
  const isRunning = now === undefined || now.state === 'running'
  return (
    <Dialog
      title={title}
      onClose={onClose}
      foot={
        <>
          <Button onClick={onClose}>{t('Close')}</Button>
          <Button kind="main" needs="GET /services/pending" isBusy={isRunning} onClick={onShow}>
            {t('What would change')}
          </Button>
        </>
      }
    >
      {isRunning ? (
        <>
          <Loading />
          <p>{t('Everything is staged and is being validated with every program. You can close this dialog.')}</p>
        </>
      ) : (
        <Found job={now} />
      )}
    </Dialog>
  )
}

function Found({ job: { state, problem, log, result } }: { readonly job: Job }) {
  if (state !== 'succeeded')
    return (
      <>
        <Problem text={problem?.message ?? t('The validation did not finish.')} />
        <p>{t('It is pending nevertheless: correct the errors, or discard it.')}</p>
        {log.length === 0 ? null : <pre class="code block wraps">{log.join('\n')}</pre>}
      </>
    )
  return (
    <>
      <p class="good-text" role="status">
        {t('Every program accepts it.')}
      </p>
      <p>{t('Review the changes, then apply them with a confirmation time.')}</p>
      <ul class="bullets">
        {(result?.warnings ?? []).map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </>
  )
}
