import { signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { isLocked } from '../core/api.ts'
import { useRecords } from '../core/records.ts'
import { goTo, hrefOf } from '../core/route.ts'
import { state } from '../core/session.ts'
import { t } from '../core/text.ts'
import { isOpen, PAGES } from '../pages/pages.ts'
import { Answered } from './answered.tsx'
import { type Service, useServices } from './services-table.tsx'
import type { ServerRecord } from './servers-table.tsx'

export const isSearchOpen = signal(false)

addEventListener('keydown', (event) => {
  if (event.key !== 'k' || !(event.ctrlKey || event.metaKey)) return
  event.preventDefault()
  // No search before a login.
  if (state.value !== 'in' || isLocked.value) return
  isSearchOpen.value = !isSearchOpen.value
})

interface Found {
  readonly href: string
  readonly title: string
  readonly hint: string
}

const SHOWN = 12

function found(text: string, services: readonly Service[], servers: readonly ServerRecord[]): readonly Found[] {
  const wanted = text.trim().toLowerCase()
  const all = function* (): Generator<Found> {
    for (const { page, title } of PAGES.filter(isOpen)) yield { href: hrefOf(page), title: t(title), hint: t('Page') }
    for (const { layer, id, name, ip, ports } of services)
      yield { href: hrefOf('services', layer, id), title: name, hint: `${t('Service')} · ${ip}:${ports} · ${id}` }
    for (const { id, name, ip, port } of servers)
      yield { href: hrefOf('servers', id), title: name, hint: `${t('Server')} · ${ip}:${port ?? ''} · ${id}` }
  }
  const fitting: Found[] = []
  for (const one of all()) {
    if (`${one.title} ${one.hint}`.toLowerCase().includes(wanted)) fitting.push(one)
    if (fitting.length === SHOWN) break
  }
  return fitting
}

/** Search with Ctrl-K: for names, addresses, ids and pages. */
export function Search() {
  const text = useSignal('')
  const at = useSignal(0)
  const dialog = useRef<HTMLDialogElement>(null)
  const { services, known, problem } = useServices()
  const servers = useRecords<ServerRecord>('/ipvsDirector/rips')
  const list = found(text.value, services, servers.records ?? [])
  const isKnown = known !== undefined && servers.records !== undefined
  const close = () => (isSearchOpen.value = false)
  useEffect(() => dialog.current?.showModal(), [])
  const choose = (one: Found | undefined) => {
    if (one === undefined) return
    close()
    goTo(one.href)
  }
  const onKey = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0) {
      event.preventDefault()
      at.value = Math.max(0, Math.min(list.length - 1, at.value + step))
    } else if (event.key === 'Enter') choose(list[at.value])
  }
  return (
    <dialog ref={dialog} class="search" aria-label={t('Search')} onCancel={close} onClose={close}>
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="search-found"
        aria-activedescendant={`search-${at.value}`}
        aria-label={t('Search')}
        placeholder={t('Name, address, id or page')}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value
          at.value = 0
        }}
        onKeyDown={onKey}
      />
      <ul id="search-found" role="listbox" aria-label={t('Search')}>
        {list.map((one, index) => (
          <li
            key={one.href}
            id={`search-${index}`}
            role="option"
            aria-selected={index === at.value}
            onClick={() => choose(one)}
          >
            <bdi>{one.title}</bdi> <span class="hint">{one.hint}</span>
          </li>
        ))}
      </ul>
      {list.length === 0 ? (
        <Answered of={isKnown ? list : undefined} problem={problem ?? servers.problem}>
          {() => <p class="hint none">{t('No matches.')}</p>}
        </Answered>
      ) : null}
    </dialog>
  )
}
