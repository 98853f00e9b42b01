import { route, setQuery } from '../core/route.ts'
import { t } from '../core/text.ts'

/** What is looked for stands in the address of the page, as `q`. */
export const filterText = (): string => (route.value.query.get('q') ?? '').toLowerCase()

export const Filter = ({ hint = t('Filter') }: { readonly hint?: string }) => (
  <input
    type="search"
    class="filter"
    placeholder={hint}
    aria-label={t('Filter')}
    value={route.value.query.get('q') ?? ''}
    onInput={(event) => setQuery({ q: event.currentTarget.value })}
  />
)
