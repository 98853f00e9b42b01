import { signal } from '@preact/signals'
import type { FunctionComponent } from 'preact'
import { useEffect } from 'preact/hooks'
import { isAway, isLocked } from './core/api.ts'
import { ahead_ms } from './core/clock.ts'
import { isFollowing, isOld, overview, seesFigures, stream } from './core/live.ts'
import { may } from './core/rights.ts'
import { goTo, hrefOf, route } from './core/route.ts'
import { account, forgotten, logOut, state, whenForgotten } from './core/session.ts'
import { t } from './core/text.ts'
import { Locked, Login, Logo } from './pages/login.tsx'
import { OverviewPage } from './pages/overview.tsx'
import { beginning, isOpen, PAGES } from './pages/pages.ts'
import { ServersPage } from './pages/servers.tsx'
import { ServicesPage } from './pages/services.tsx'
import { Button, Empty, Loading } from './parts/basic.tsx'
import { Icon } from './parts/icon.tsx'
import { ConfirmBar, isPendingOpen, PendingDialog } from './parts/pending.tsx'
import { isPublishOpen, PublishDialog } from './parts/publish.tsx'
import { isSearchOpen, Search } from './parts/search.tsx'
import { Toasts } from './parts/toast.tsx'

type Pages = Readonly<Record<string, FunctionComponent | undefined>>
const FIRST: Pages = { overview: OverviewPage, services: ServicesPage, servers: ServersPage }
const LATER: ReadonlySet<string> = new Set([
  'account',
  'alerts',
  'certificates',
  'changes',
  'cluster',
  'node',
  'operations',
  'traffic',
])
const HOUR_MS = 3_600_000
const WRONG_MS = 60_000

const pages = signal(FIRST)
const isMenuOpen = signal(false)
/**
 * Whether the file of the later pages failed to load: the daemon did not answer, or a newer version has other files.
 */
const isMissing = signal(false)

const fetchLater = () =>
  import('./pages/later.ts').then(
    ({ LATER_PAGES }) => (pages.value = { ...FIRST, ...LATER_PAGES }),
    () => (isMissing.value = true),
  )

whenForgotten(() => {
  for (const dialog of [isPendingOpen, isPublishOpen, isSearchOpen]) dialog.value = false
})

function Page() {
  // A user who has to set up a second factor can do nothing else.
  const mustEnrol = account.value?.mustEnrol === true
  const { page: asked } = route.value
  const name = mustEnrol ? 'account' : asked === 'overview' ? beginning() : asked
  const Shown = Object.hasOwn(pages.value, name) ? pages.value[name] : undefined
  const isLater = Shown === undefined && LATER.has(name)
  useEffect(() => {
    isMenuOpen.value = false
  }, [name])
  useEffect(() => {
    isMissing.value = false
    if (isLater && !isAway.value) void fetchLater()
  }, [name, isAway.value])
  // After that the page stays open, because it shows codes that are shown only once.
  useEffect(() => {
    if (mustEnrol) goTo(hrefOf('account'))
  }, [mustEnrol])
  if (Shown === undefined && !isLater)
    return (
      <Empty title={t('This page does not exist.')}>
        <a href={hrefOf('overview')}>{t('Overview')}</a>
      </Empty>
    )
  const page = PAGES.find((one) => one.page === name)
  if (page !== undefined && !isOpen(page))
    return (
      <Empty title={t('You do not have access to this page.')}>
        <p>{t('Your permissions do not include it, or no longer do. An administrator can change your roles.')}</p>
        <a href={hrefOf('overview')}>{t('Overview')}</a>
      </Empty>
    )
  if (Shown !== undefined) return <Shown />
  if (!isMissing.value) return <Loading />
  return (
    <Empty title={t('This page could not be loaded.')}>
      <Button onClick={() => location.reload()}>{t('Try again')}</Button>
    </Empty>
  )
}

/** The frame around every page. */
export function App() {
  if (state.value === 'asking') return <Loading />
  if (state.value === 'out') return <Login />
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault()
          document.querySelector('main')?.focus()
        }}
      >
        {t('Skip to content')}
      </a>
      <div
        key={forgotten.value}
        class={`shell${isMenuOpen.value ? ' open' : ''}${isOld.value || isAway.value ? ' old' : ''}`}
      >
        <Menu />
        <div class="body">
          <Header />
          <ConfirmBar />
          <main id="main" tabIndex={-1}>
            <Page />
          </main>
        </div>
        {isPendingOpen.value ? <PendingDialog /> : null}
        {isPublishOpen.value ? <PublishDialog /> : null}
        {isSearchOpen.value ? <Search /> : null}
      </div>
      <Toasts />
      {isLocked.value ? <Locked /> : null}
    </>
  )
}

const Menu = () => (
  <nav class="menu" aria-label={t('Pages')}>
    <a class="brand" href={hrefOf('overview')}>
      <Logo /> Fulcrum
    </a>
    <ul>
      {PAGES.filter(isOpen).map(({ page, title, icon }) => (
        <li key={page}>
          <a href={hrefOf(page)} aria-current={route.value.page === page ? 'page' : undefined}>
            <Icon name={icon} /> {t(title)}
          </a>
        </li>
      ))}
    </ul>
  </nav>
)

/** Shows whether the figures on the page are live. */
function Live() {
  if (!isAway.value && !(seesFigures.value && isFollowing.value)) return null
  const isLive = stream.value === 'live' && !isOld.value && !isAway.value
  const word = isAway.value
    ? t('The daemon does not answer')
    : stream.value === 'crowded'
      ? t('no live figures: other windows use all connections')
      : isLive
        ? t('live')
        : t('figures are outdated')
  return (
    <span class={isAway.value ? 'live away' : isLive ? 'live' : 'live old'} role="status">
      {word}
    </span>
  )
}

/** Warns of a wrong clock in the browser, which otherwise only shows as a certificate that "is not valid yet". */
function WrongClock() {
  const off_ms = Math.abs(ahead_ms.value)
  if (off_ms < WRONG_MS) return null
  const text =
    off_ms < 2 * HOUR_MS
      ? t('The clock of this browser is off by {count:minute|minutes}.', { count: Math.round(off_ms / 60_000) })
      : t('The clock of this browser is off by {count:hour|hours}.', { count: Math.round(off_ms / HOUR_MS) })
  return (
    <span class="badge warn wrong-clock" title={t('Times are shown in the time of the node.')}>
      {text}
    </span>
  )
}

/**
 * The button for pending changes. Before the overview arrives their number is unknown; a user with the right can open
 * the list all the same.
 */
function WhatWaits() {
  if (!may('GET /services/pending')) return null
  const now = overview.value?.pending ?? undefined
  const words = () => {
    if (now === undefined) return t('Pending changes')
    const { count, mine } = now
    return count === 0 ? t('no pending changes') : t('{count} pending ({mine} yours)', { count, mine })
  }
  return (
    <button
      type="button"
      class={(now?.count ?? 0) > 0 ? 'pill waiting' : 'pill'}
      onClick={() => (isPendingOpen.value = true)}
    >
      {words()}
    </button>
  )
}

function Header() {
  const now = overview.value
  return (
    <header class="top">
      <Button
        kind="quiet"
        icon="menu"
        class="menu-button"
        aria-label={t('Menu')}
        aria-expanded={isMenuOpen.value}
        onClick={() => (isMenuOpen.value = !isMenuOpen.value)}
      />
      <Live />
      <WrongClock />
      {now === undefined ? null : (
        <span class="hint haproxy">
          {now.nodes.find(({ isSelf }) => isSelf)?.name} · HAProxy{' '}
          {now.haproxy.answers ? t('answers') : t('does not answer')}
        </span>
      )}
      <span class="grow" />
      <button
        type="button"
        class="search-button"
        aria-label={`${t('Search')} Ctrl K`}
        onClick={() => (isSearchOpen.value = true)}
      >
        <Icon name="search" /> <span>{t('Search')}</span> <kbd aria-hidden="true">Ctrl K</kbd>
      </button>
      <WhatWaits />
      <a class="button quiet" href={hrefOf('account')} aria-label={t('Account')} title={account.value?.email}>
        <Icon name="user" />
      </a>
      <Button kind="quiet" icon="leave" class="log-out" aria-label={t('Log out')} onClick={() => void logOut()}>
        {t('Log out')}
      </Button>
    </header>
  )
}
