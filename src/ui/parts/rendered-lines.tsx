import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { ask, readAll } from '../core/api.ts'
import type { Warning } from '../core/live.ts'
import type { Values } from '../core/merge.ts'
import { documentOfRecord, REFERRED } from '../core/record-document.ts'
import { placeOf, type RecordLike } from '../core/records.ts'
import { t } from '../core/text.ts'
import { Button, Loading } from './basic.tsx'
import { Diffs, type FileDiff } from './changes-list.tsx'
import { noAnswer, useDoing } from './doing.ts'
import { FormProblems } from './form-problems.tsx'

interface Lines {
  readonly section: string
  /** The present name of the record; undefined for a new one. */
  readonly before: string | undefined
  readonly value: Values
}

interface Shown {
  readonly of: Values
  readonly files: readonly FileDiff[]
  readonly warnings: readonly Warning[]
}

async function namesOfAll(): Promise<ReadonlyMap<string, string>> {
  // A list that the user may not see holds nothing that the user could refer to.
  const lists = await Promise.all(
    REFERRED.map((section) => readAll<RecordLike>(placeOf(section)).catch((): RecordLike[] => [])),
  )
  return new Map(lists.flat().map(({ id, name = '' }) => [id, name]))
}

/**
 * Shows the changes of generated files beside the form. Computed on request and not with each key: the daemon keeps
 * only some plans, including those of other users.
 */
export function RenderedLines({ section: ofSection, before, value }: Lines) {
  const shown = useSignal<Shown | undefined>(undefined)
  const { isBusy, refusal, run } = useDoing(noAnswer)
  const look = () =>
    run(async () => {
      const document = documentOfRecord({ section: ofSection, before, value, names: await namesOfAll() })
      const { data } = await ask<Omit<Shown, 'of'>>('POST', '/config/plan', { body: { document, takeOver: true } })
      shown.value = { ...data, of: value }
    })
  const section = useRef<HTMLElement>(null)
  useEffect(() => {
    void look()
    // On a narrow screen they are below the form.
    section.current?.scrollIntoView({ block: 'nearest' })
  }, [])
  const now = refusal.value === undefined ? shown.value : undefined
  return (
    <section ref={section} class="beside" aria-label={t('What would change')} aria-live="polite">
      <header class="card-head">
        <h3>{t('What would change')}</h3>
        <Button isBusy={isBusy.value} disabled={now?.of === value} onClick={() => void look()}>
          {t('Refresh')}
        </Button>
      </header>
      <FormProblems error={refusal.value?.message} errors={refusal.value?.errors ?? []} />
      {now === undefined ? (
        refusal.value === undefined ? (
          <Loading />
        ) : null
      ) : (
        <Known now={now} isOld={now.of !== value} />
      )}
    </section>
  )
}

const Known = ({ now: { files, warnings }, isOld }: { readonly now: Shown; readonly isOld: boolean }) => (
  <div class={isOld ? 'outdated' : ''}>
    {isOld ? <p class="hint">{t('The form has changed since this preview.')}</p> : null}
    {warnings.length === 0 ? null : (
      <ul class="problem block warn">
        {warnings.map(({ code, message }) => (
          <li key={`${code} ${message}`}>{message}</li>
        ))}
      </ul>
    )}
    {files.length === 0 ? <p class="hint">{t('No generated file would change.')}</p> : <Diffs files={files} />}
  </div>
)
