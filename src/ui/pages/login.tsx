import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { ask, isLocked } from '../core/api.ts'
import { rememberPlace } from '../core/route.ts'
import { account, forget, logIn, type LoginOptions, loginNotice, resume, type SsoRefusal } from '../core/session.ts'
import { t } from '../core/text.ts'
import { Button, PasswordField, Problem } from '../parts/basic.tsx'
import { stayOpen } from '../parts/dialog.tsx'
import { noAnswer, useDoing } from '../parts/doing.ts'

/** Covers everything, dialogs included: the session has ended, and what was typed stays behind it. */
export function Locked() {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    dialog.current?.showModal()
    // A login in another tab is valid for this one too.
    const look = () => void resume().catch(() => undefined)
    addEventListener('focus', look)
    return () => removeEventListener('focus', look)
  }, [])
  return (
    <dialog
      ref={dialog}
      class="locked"
      aria-label={t('Log in')}
      onCancel={(event) => event.preventDefault()}
      onClose={stayOpen}
    >
      <Login />
    </dialog>
  )
}

/** The login form, when the page opens and after the session has ended. */
export function Login() {
  const email = useSignal(account.value?.email ?? '')
  const password = useSignal('')
  const code = useSignal('')
  const asksCode = useSignal(false)
  const options = useSignal<LoginOptions | undefined>(undefined)
  const { isBusy, refusal, run } = useDoing(noAnswer)
  const codeInput = useRef<HTMLInputElement>(null)
  useEffect(() => {
    // The answer is the same for every address, so any will do.
    void ask<LoginOptions>('POST', '/login/options', { body: { email: 'anybody@localhost' } }).then(
      ({ data }) => (options.value = data),
      () => undefined,
    )
  }, [])
  async function submit() {
    await run(async () => {
      if ((await logIn(email.value, password.value, code.value)) === 'code') {
        asksCode.value = true
        setTimeout(() => codeInput.current?.focus())
      }
    })
    if (refusal.value !== undefined) code.value = ''
  }
  return (
    <main class="login">
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault()
          void submit()
        }}
      >
        <h1 class="brand">
          <Logo /> Fulcrum
        </h1>
        {isLocked.value ? <p>{t('Your session has ended. Your input is still there: log in to continue.')}</p> : null}
        {loginNotice.value === undefined || refusal.value !== undefined ? null : loginNotice.value.tone === 'bad' ? (
          <Problem text={noticeOf(loginNotice.value.text)} />
        ) : (
          <p class="good-text" role="status">
            {noticeOf(loginNotice.value.text)}
          </p>
        )}
        <Problem text={refusal.value?.message} />
        <label class="field">
          {t('E-mail')}
          <input
            type="text"
            name="username"
            autocomplete="username"
            required
            autofocus={!isLocked.value}
            value={email.value}
            onInput={(event) => (email.value = event.currentTarget.value)}
          />
        </label>
        <PasswordField label={t('Password')} value={password} name="password" />
        {asksCode.value ? (
          <label class="field">
            {t('Code from the second factor')}
            <input
              ref={codeInput}
              type="text"
              inputMode="numeric"
              autocomplete="one-time-code"
              required
              value={code.value}
              onInput={(event) => (code.value = event.currentTarget.value)}
            />
          </label>
        ) : null}
        <Button kind="main" type="submit" isBusy={isBusy.value}>
          {t('Log in')}
        </Button>
        {options.value?.samlConfigured === true ? <SsoLink via="saml">{t('Single sign-on')}</SsoLink> : null}
        {options.value?.oidcConfigured === true ? (
          <SsoLink via="oidc">
            {options.value.samlConfigured ? t('Single sign-on with OpenID Connect') : t('Single sign-on')}
          </SsoLink>
        ) : null}
        {isLocked.value ? (
          <Button kind="quiet" onClick={forget}>
            {t('Leave')}
          </Button>
        ) : null}
      </form>
    </main>
  )
}

/** The refusing side sends a code and not a text, because anybody can forge an address. */
function noticeOf(notice: string | SsoRefusal): string {
  if (typeof notice === 'string') return notice
  const { by, code } = notice
  if (code === 'NOT_FOUND') return t('Single sign-on is not set up here.')
  if (code === 'RATE_LIMITED' || code === 'TOO_MANY_AT_ONCE')
    return t('Too many logins at the moment: try again in a few seconds.')
  if (by === 'oidc.login')
    return t('The identity provider gave an unexpected answer; the log of this node has the details.')
  return t(
    'The identity provider did not confirm your identity, or the login took longer than ten minutes or was already used. Try again; if it fails again, the log of this node has the details.',
  )
}

/** If something was typed, the login continues in another tab. */
const SsoLink = ({ via, children }: { readonly via: 'saml' | 'oidc'; readonly children: string }) => (
  <a
    class="button plain"
    href={`api/v1/${via}/login`}
    target={isLocked.value ? '_blank' : undefined}
    onClick={rememberPlace}
  >
    {children}
  </a>
)

export const Logo = () => (
  <svg class="logo" viewBox="0 0 32 32" aria-hidden="true">
    <path d="M16 13 28 29H4z" />
    <path class="beam" d="M3 12 29 6" />
  </svg>
)
