import { route, setQuery } from '../core/route.ts'
import { t } from '../core/text.ts'

/** The filter text is in the page's address, as `q`. */
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
