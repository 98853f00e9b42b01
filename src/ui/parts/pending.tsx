import { signal, useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect } from 'preact/hooks'
import { ask, read, changes } from '../core/api.ts'
import { apply, changed, isWarned, overview, refreshOverview, type Warning } from '../core/live.ts'
import { applyBody, isOnlyOf } from '../core/reviewed.ts'
import { account } from '../core/session.ts'
import { t } from '../core/text.ts'
import { Answered } from './answered.tsx'
import { Button, Choice, Empty, Problem } from './basic.tsx'
import { type Change, ChangesList, Diffs, type FileDiff } from './changes-list.tsx'
import { Dialog } from './dialog.tsx'
import { problemIn, useDoing } from './doing.ts'
import { FormProblems } from './form-problems.tsx'
import { attempt, say } from './toast.tsx'
import { useAccepting, Warnings } from './warnings.tsx'

export const isPendingOpen = signal(false)

interface Pending {
  readonly revision: number
  readonly count: number
  readonly changes: readonly (Change & { readonly alsoBy: readonly string[] })[]
  readonly warnings: readonly Warning[]
  readonly files?: readonly FileDiff[]
}

/**
 * Returns the usual time for the confirmation: reloads and new addresses can cut somebody off, so they are taken back
 * unless confirmed.
 */
const usual_s = (all: readonly Change[]): number =>
  all.some(({ effect }) => effect === 'network' || effect === 'reload') ? 60 : 0

/** Pending changes by user and record, and how to apply them. */
export function PendingDialog() {
  const pending = useSignal<Pending | undefined>(undefined)
  const problem = useSignal<string | undefined>(undefined)
  const whose = useSignal<'all' | 'mine'>('all')
  const within = useSignal<number | undefined>(undefined)
  const comment = useSignal('')
  const { isBusy, refusal, run } = useDoing()
  const close = () => (isPendingOpen.value = false)
  useEffect(() => {
    let isOver = false
    const take = (now: Pending | undefined, why: string | undefined) => {
      if (isOver) return
      pending.value = now ?? pending.peek()
      problem.value = why
    }
    read<Pending>('/services/pending', { render: true }).then(
      (now) => take(now, undefined),
      (error: unknown) => take(undefined, problemIn(error)),
    )
    // A later answer may have overtaken this one: the changes that are shown are those that go live.
    return () => {
      isOver = true
    }
  }, [changes.value])
  const now = pending.value
  const accepting = useAccepting(now?.warnings ?? [])
  if (now === undefined)
    return (
      <Dialog title={t('Pending changes')} onClose={close} isWide>
        <Answered of={now} problem={problem.value}>
          {() => null}
        </Answered>
      </Dialog>
    )
  const mine = now.changes.filter((change) => isOnlyOf(change, account.value?.email))
  // If no own change is left, there is nothing to choose.
  const isMine = whose.value === 'mine' && mine.length > 0
  const shown = isMine ? mine : now.changes
  const seconds = within.value ?? usual_s(shown)

  const goLive = () =>
    run(async () => {
      const terms = {
        isMine,
        confirmWithin: seconds,
        comment: comment.value,
        isAccepted: accepting.isAccepted,
      }
      const said = await apply(applyBody(shown, terms)).catch((error: unknown) => {
        // Other changes or warnings exist by now: show them.
        void changed()
        throw isWarned(error) ? new Error(t('There are warnings: read them, and tick the box to apply anyway.')) : error
      })
      say(said)
      close()
    })

  const discard = (path: string) => attempt(async () => (await ask('DELETE', path, { body: {} })).message).then(changed)
  const discardAll = async ({ count, changes: all }: Pending) => {
    const others = all.filter((change) => !isOnlyOf(change, account.value?.email)).length
    if (confirm(t('Discard {count:change|changes}, {others} of other people?', { count, others })))
      await discard('/services/pending')
  }
  const foot =
    now.count === 0 ? undefined : (
      <>
        <Button kind="danger" icon="trash" needs="DELETE /services/pending" onClick={() => void discardAll(now)}>
          {t('Discard all')}
        </Button>
        <span class="grow" />
        <label class="inline">
          {t('Revert unless confirmed within')}{' '}
          <select value={String(seconds)} onChange={(event) => (within.value = Number(event.currentTarget.value))}>
            {[0, 30, 60, 300, 900].map((one) => (
              <option key={one} value={String(one)}>
                {one === 0 ? t('never') : t('{seconds} s', { seconds: one })}
              </option>
            ))}
          </select>
        </label>
        <Button
          kind="main"
          icon="check"
          needs="PUT /services/apply"
          isBusy={isBusy.value}
          disabled={shown.length === 0}
          onClick={() => void goLive()}
        >
          {isMine ? t('Apply mine') : t('Apply all')}
        </Button>
      </>
    )
  return (
    <Dialog title={t('Pending changes')} onClose={close} isWide foot={foot}>
      <Problem text={problem.value} />
      {now.count === 0 ? (
        <Empty title={t('No pending changes.')}>
          <p>{t('Your changes are collected here until you apply them.')}</p>
        </Empty>
      ) : (
        <>
          <FormProblems error={refusal.value?.message} errors={refusal.value?.errors ?? []} />
          {mine.length === now.count || mine.length === 0 ? null : (
            <Choice
              label={t('Owner')}
              value={whose.value}
              options={[
                ['all', t('All ({count})', { count: now.count })],
                ['mine', t('Mine ({count})', { count: mine.length })],
              ]}
              onChange={(next) => (whose.value = next)}
            />
          )}
          <Warnings warnings={now.warnings} accepting={accepting} />
          <ChangesList
            changes={shown}
            action={({ id, name }) => (
              <Button
                kind="quiet"
                icon="trash"
                needs="DELETE /services/pending/{changeId}"
                aria-label={t('Discard the change to {name}', { name })}
                onClick={() => void discard(`/services/pending/${id}`)}
              />
            )}
          />
          <Diffs files={now.files ?? []} />
          <label class="field">
            {t('Comment')}
            <input
              type="text"
              maxLength={200}
              value={comment.value}
              onInput={(event) => (comment.value = event.currentTarget.value)}
            />
          </label>
        </>
      )}
    </Dialog>
  )
}

/** Shown on every screen to every user while an apply waits for confirmation. */
export function ConfirmBar() {
  const now = overview.value?.apply
  const left = useSignal(0)
  useLayoutEffect(() => {
    left.value = now?.secondsLeft ?? 0
    if (now?.state !== 'waiting') return undefined
    const timer = setInterval(() => (left.value = Math.max(0, left.value - 1)), 1000)
    return () => clearInterval(timer)
  }, [now?.state, now?.secondsLeft])
  if (now?.state !== 'waiting') return null
  const named = { revision: now.revision, by: now.by ?? '' }
  if (now.secondsLeft === 0)
    return (
      <div class="confirm-bar">
        <strong role="alert">
          {t('Revision {revision} by {by} was not confirmed in time and is being reverted.', named)}
        </strong>
        {overview.value?.quorum === false ? <span>{t('This continues as soon as enough nodes answer.')}</span> : null}
      </div>
    )
  const act = (path: string) =>
    attempt(async () => {
      // The request names no apply, and another one may wait since the page last looked.
      await refreshOverview()
      const waits = overview.value?.apply
      if (waits?.state === 'waiting' && waits.revision !== now.revision)
        throw new Error(t('A newer revision is waiting for confirmation: check it first.'))
      return (await ask('PUT', path, { body: {} })).message
    }).then(changed)
  return (
    <div class="confirm-bar">
      {/* Told once: what changes each second stands beside it. */}
      <strong role="alert">{t('Revision {revision} by {by} is reverted unless you confirm it.', named)}</strong>
      <span role="timer">{t('{seconds} s left', { seconds: left.value })}</span>
      <span>
        {t('{count:server|servers} down', {
          count: (overview.value?.layer7.reals.down ?? 0) + (overview.value?.layer4.reals.down ?? 0),
        })}
      </span>
      <Button
        kind="main"
        icon="check"
        needs="PUT /services/apply/confirm"
        aria-label={t('Keep revision {revision} by {by}', named)}
        onClick={() => void act('/services/apply/confirm')}
      >
        {t('Keep')}
      </Button>
      <Button
        kind="danger"
        icon="undo"
        needs="PUT /services/apply/revert"
        aria-label={t('Revert revision {revision} by {by} now', named)}
        onClick={() => void act('/services/apply/revert')}
      >
        {t('Revert now')}
      </Button>
    </div>
  )
}
