import { signal, useSignal } from '@preact/signals'
import { ask, readAll, Refused } from '../core/api.ts'
import { changed, type Warning } from '../core/live.ts'
import { isSame } from '../core/merge.ts'
import { useRecords } from '../core/records.ts'
import { documentOf, type KnownServer, typedAs, type Wanted } from '../core/service-document.ts'
import { t } from '../core/text.ts'
import { Button } from './basic.tsx'
import { type Change, ChangesList, Diffs, type FileDiff } from './changes-list.tsx'
import { Dialog } from './dialog.tsx'
import { noAnswer, useDoing } from './doing.ts'
import { FormProblems } from './form-problems.tsx'
import { say } from './toast.tsx'
import { useAccepting, Warnings } from './warnings.tsx'

export const isPublishOpen = signal(false)

interface Plan {
  readonly planId: string
  readonly changes: readonly Change[]
  readonly warnings: readonly Warning[]
  readonly files: readonly FileDiff[]
}

/** The apply is taken back unless a user who can still reach the page confirms it. */
const CONFIRM_S = 60

const NOTHING: Wanted = { name: '', address: '', servers: '', certificate: '', checkPath: '', sticks: false }

/** The user has typed neither the document nor the names of its servers. */
function asTyped({ status, code, message, errors }: Refused, document: ReturnType<typeof documentOf>): Refused {
  const placeOf = (field: string): string => {
    const typed = typedAs(field, document)
    if (typed === undefined) return field
    return typed.what === undefined ? t(typed.input) : `${t(typed.input)}: “${typed.what}”`
  }
  return new Refused(status, {
    code,
    message: errors.reduce((text, { field }) => text.replace(field, () => placeOf(field)), message),
    errors: errors.map((one) => ({ ...one, field: placeOf(one.field) })),
  })
}

/**
 * Publishes a service from an address and its servers: planned, shown, and live with one more click. A plan that is not
 * applied leaves nothing behind.
 */
export function PublishDialog() {
  const wanted = useSignal(NOTHING)
  const plan = useSignal<Plan | undefined>(undefined)
  const { isBusy, refusal, run } = useDoing()
  const looking = useDoing(noAnswer)
  const accepting = useAccepting(plan.value?.warnings ?? [])
  const { records: certificates = [] } = useRecords('/certificates/certs')
  const set = (changes: Partial<Wanted>) => (wanted.value = { ...wanted.value, ...changes })

  const look = () =>
    looking.run(async () => {
      const known = await readAll<KnownServer>('/ipvsDirector/rips')
      const document = documentOf(wanted.value, known)
      const { data } = await ask<Plan>('POST', '/config/plan', { body: { document } }).catch((error: unknown) => {
        throw error instanceof Refused ? asTyped(error, document) : error
      })
      const taken = data.changes.find(({ op }) => op !== 'create')
      if (taken !== undefined || data.changes.length < 2)
        throw new Error(t('The name {name} is already in use: choose another one.', { name: wanted.value.name }))
      plan.value = data
    })

  const goLive = () =>
    run(async () => {
      const body = {
        confirmWithin: CONFIRM_S,
        comment: t('published {name}', { name: wanted.value.name }),
        ...(accepting.isAccepted ? {} : { refuseWarnings: true }),
      }
      const { message } = await ask('PUT', `/config/plans/${plan.value?.planId}/apply`, { body })
      say(message)
      isPublishOpen.value = false
      await changed()
    })

  const { name, address, servers, certificate, checkPath, sticks } = wanted.value
  const shown = plan.value === undefined ? looking.refusal.value : refusal.value
  const isWhole = name.trim() !== '' && address !== '' && servers.trim() !== ''
  return (
    <Dialog
      title={t('Publish a service')}
      onClose={() => (isPublishOpen.value = false)}
      isUnsaved={!isSame(wanted.value, NOTHING)}
      isWide
      foot={
        plan.value === undefined ? (
          <Button kind="main" isBusy={looking.isBusy.value} disabled={!isWhole} onClick={() => void look()}>
            {t('Preview')}
          </Button>
        ) : (
          <>
            <Button onClick={() => (plan.value = undefined)}>{t('Back')}</Button>
            <Button kind="main" icon="check" isBusy={isBusy.value} onClick={() => void goLive()}>
              {t('Go live')}
            </Button>
          </>
        )
      }
    >
      <FormProblems error={shown?.message} errors={shown?.errors ?? []} />
      {plan.value === undefined ? (
        <form
          onSubmit={(event) => {
            event.preventDefault()
            if (isWhole) void look()
          }}
        >
          <label class="field">
            {t('Name')}
            <input
              type="text"
              required
              autofocus
              value={name}
              placeholder="shop"
              onInput={(event) => set({ name: event.currentTarget.value })}
            />
          </label>
          <label class="field">
            {t('Address for clients')}
            <input
              type="text"
              required
              value={address}
              placeholder="192.0.2.10:80"
              onInput={(event) => set({ address: event.currentTarget.value })}
            />
          </label>
          <label class="field">
            {t('Servers, one per line')}
            <textarea
              rows={4}
              required
              value={servers}
              placeholder={'10.0.0.11:8080\n10.0.0.12:8080'}
              onInput={(event) => set({ servers: event.currentTarget.value })}
            />
          </label>
          <details class="late">
            <summary>{t('Certificate, health check, stickiness')}</summary>
            <label class="field">
              {t('Certificate')}
              <select value={certificate} onChange={(event) => set({ certificate: event.currentTarget.value })}>
                <option value="">{t('none: plain HTTP')}</option>
                {certificates.map((one) => (
                  <option key={one.id} value={one.name}>
                    {one.name}
                  </option>
                ))}
              </select>
            </label>
            <label class="field">
              {t('Path of the health check (empty: only connect)')}
              <input
                type="text"
                value={checkPath}
                placeholder="/health"
                onInput={(event) => set({ checkPath: event.currentTarget.value })}
              />
            </label>
            <label class="inline">
              <input
                type="checkbox"
                checked={sticks}
                onChange={(event) => set({ sticks: event.currentTarget.checked })}
              />{' '}
              {t('Keep each client on one server (cookie)')}
            </label>
          </details>
          <button type="submit" class="hidden" tabIndex={-1} aria-hidden="true" />
        </form>
      ) : (
        <>
          <p class="hint">
            {t(
              'These changes are not live yet. Once they are, they are reverted unless you confirm them within a minute.',
            )}
          </p>
          <Warnings warnings={plan.value.warnings} accepting={accepting} />
          <ChangesList changes={plan.value.changes.map((one, at) => ({ ...one, id: String(at), by: '' }))} />
          <Diffs files={plan.value.files} />
        </>
      )}
    </Dialog>
  )
}
