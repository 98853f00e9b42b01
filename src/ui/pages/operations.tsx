import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { mayById } from '../core/rights.ts'
import { api, loadApi, type Operation } from '../core/schema.ts'
import { t } from '../core/text.ts'
import { Badge, Card, Empty, Loading, PageHead } from '../parts/basic.tsx'
import { Filter, filterText } from '../parts/filter.tsx'
import { OperationDialog } from '../parts/operation-dialog.tsx'

/** Leaves out streams, because a form cannot wait for their end. */
const isAsked = ({ id, right }: Operation) => !id.endsWith('.stream') && (right === undefined || mayById(right))

/** All operations that the user may use, each with a form. */
export function OperationsPage() {
  const open = useSignal<string | undefined>(undefined)
  useEffect(() => void loadApi(), [])
  const known = api.value
  const text = filterText()
  const fitting = [...(known?.operations.values() ?? [])].filter(
    (one) => isAsked(one) && `${one.method} ${one.path} ${one.summary} ${one.id}`.toLowerCase().includes(text),
  )
  const tags = [...new Set(fitting.map(({ tag }) => tag))]
  return (
    <>
      <PageHead title={t('Operations')} hint={t('All operations of the API, each with its own form.')}>
        <Filter />
        <a class="button plain" href="api/v1/docs">
          {t('API documentation')}
        </a>
      </PageHead>
      {known === undefined ? <Loading /> : null}
      {known !== undefined && fitting.length === 0 ? <Empty title={t('No matches.')} /> : null}
      {tags.map((tag) => (
        <Card key={tag} title={tag}>
          <ul class="plain rows">
            {fitting
              .filter((one) => one.tag === tag)
              .map(({ id, method, path, summary }) => (
                <li key={id}>
                  <button type="button" class="link" onClick={() => (open.value = id)}>
                    {summary}
                  </button>{' '}
                  <span class="hint code">
                    <Badge tone={method === 'GET' ? 'info' : method === 'DELETE' ? 'bad' : 'warn'}>{method}</Badge>{' '}
                    {path}
                  </span>
                </li>
              ))}
          </ul>
        </Card>
      ))}
      {open.value === undefined ? null : (
        <OperationDialog key={open.value} id={open.value} onClose={() => (open.value = undefined)} />
      )}
    </>
  )
}
