import { useSignal } from '@preact/signals'
import { ask } from '../core/api.ts'
import { changed } from '../core/live.ts'
import { useRead, useRecords } from '../core/records.ts'
import { may } from '../core/rights.ts'
import { account, digitsOf, logOut, reloadAccount } from '../core/session.ts'
import { language, type Language, theme, type Theme } from '../core/settings.ts'
import { day, moment, t } from '../core/text.ts'
import { shownOnce, useUnsaved } from '../core/unsaved.ts'
import { Answered, Rows } from '../parts/answered.tsx'
import { Badge, Button, Card, Choice, Empty, PageHead, PasswordField, Problem } from '../parts/basic.tsx'
import { useDoing } from '../parts/doing.ts'
import { OperationDialog } from '../parts/operation-dialog.tsx'
import { type Editing, RecordDialog } from '../parts/record-dialog.tsx'
import { attempt, say } from '../parts/toast.tsx'

/** The user's own account, and the accounts of all users. */
export function AccountPage() {
  const own = account.value
  const editing = useSignal<Editing | undefined>(undefined)
  const asked = useSignal<string | undefined>(undefined)
  if (own === undefined) return null
  return (
    <>
      <PageHead title={t('Account')} hint={own.email}>
        <Button icon="leave" onClick={() => void logOut()}>
          {t('Log out')}
        </Button>
      </PageHead>
      {own.mustEnrol ? (
        <p class="problem block warn">{t('Set up a second factor first: you cannot do anything else until then.')}</p>
      ) : null}
      <div class="columns even">
        <Card title={t('This browser')}>
          <div class="facts">
            <div class="chosen">
              <span aria-hidden="true">{t('Theme')}</span>
              <Choice
                label={t('Theme')}
                value={theme.value}
                options={(['system', 'light', 'dark'] as const).map((one): [Theme, string] => [one, t(one)])}
                onChange={(next) => (theme.value = next)}
              />
            </div>
            <div class="chosen">
              <span aria-hidden="true">{t('Language')}</span>
              <Choice
                label={t('Language')}
                value={language.value}
                options={
                  [
                    ['en', 'English'],
                    ['de', 'Deutsch'],
                  ] satisfies [Language, string][]
                }
                onChange={(next) => (language.value = next)}
              />
            </div>
          </div>
        </Card>
        {own.kind === 'local' ? <Password /> : null}
        <SecondFactor />
        <Sessions />
        <Tokens onCreate={() => (asked.value = 'account.createToken')} />
        <People onEdit={(next) => (editing.value = next)} />
      </div>
      {editing.value === undefined ? null : (
        <RecordDialog editing={editing.value} onClose={() => (editing.value = undefined)} />
      )}
      {asked.value === undefined ? null : (
        <OperationDialog id={asked.value} onClose={() => (asked.value = undefined)} />
      )}
    </>
  )
}

function Password() {
  const now = useSignal('')
  const next = useSignal('')
  const { isBusy, refusal, run } = useDoing()
  useUnsaved(now.value !== '' || next.value !== '')
  const change = () =>
    run(async () => {
      await ask('PUT', '/localUsers/me/password', { body: { currentPassword: now.value, newPassword: next.value } })
      now.value = ''
      next.value = ''
      say(t('The password was changed, and your other sessions were ended.'))
    })
  return (
    <Card title={t('Password')}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void change()
        }}
      >
        <Problem text={refusal.value?.message} />
        <PasswordField label={t('Current password')} value={now} />
        <PasswordField
          label={t('New password')}
          value={next}
          isNew
          errors={(refusal.value?.errors ?? []).map(({ message }) => message)}
        />
        <Button type="submit" isBusy={isBusy.value}>
          {t('Change')}
        </Button>
      </form>
    </Card>
  )
}

interface Enrolment {
  readonly secret: string
  readonly uri: string
  readonly qr: string
}

function SecondFactor() {
  const own = account.value
  const password = useSignal('')
  const code = useSignal('')
  const begun = useSignal<Enrolment | undefined>(undefined)
  const codes = useSignal<readonly string[]>([])
  const { refusal, run } = useDoing()
  useUnsaved(password.value !== '' || code.value !== '' || begun.value !== undefined)
  useUnsaved(codes.value.length > 0, shownOnce())
  const begin = () =>
    run(async () => {
      begun.value = (await ask<Enrolment>('POST', '/localUsers/me/2fa', { body: { password: password.value } })).data
      password.value = ''
    })
  const confirmCode = () =>
    run(async () => {
      const { data } = await ask<{ readonly recoveryCodes: readonly string[] }>('POST', '/localUsers/me/2fa/confirm', {
        body: { code: digitsOf(code.value) },
      })
      codes.value = data.recoveryCodes
      begun.value = undefined
      code.value = ''
      await reloadAccount()
    })
  const remove = () =>
    run(async () => {
      await ask('DELETE', '/localUsers/me/2fa', { body: { password: password.value, code: digitsOf(code.value) } })
      password.value = ''
      code.value = ''
      codes.value = []
      await reloadAccount()
    })
  const isOn = own?.secondFactor.enabled === true
  const secret = <PasswordField label={t('Password')} value={password} />
  const oneTime = (
    <label class="field">
      {t('Code')}
      <input
        type="text"
        inputMode="numeric"
        autocomplete="one-time-code"
        value={code.value}
        onInput={(event) => (code.value = event.currentTarget.value)}
      />
    </label>
  )
  return (
    <Card title={t('Second factor')} more={<Badge tone={isOn ? 'good' : 'warn'}>{isOn ? t('on') : t('off')}</Badge>}>
      <Problem text={refusal.value?.message} />
      {codes.value.length === 0 ? null : (
        <div class="problem block warn">
          <p>{t('Store these codes away from the device; each of them allows one login without it:')}</p>
          <pre class="code">{codes.value.join('\n')}</pre>
          <Button onClick={() => (codes.value = [])}>{t('I have stored them')}</Button>
        </div>
      )}
      <div class="lines">
        {isOn ? (
          <>
            <p class="hint">
              {t('{count:recovery code|recovery codes} left', { count: own.secondFactor.recoveryCodesLeft })}
            </p>
            {secret}
            {oneTime}
            <Button kind="danger" onClick={() => void remove()}>
              {t('Disable')}
            </Button>
          </>
        ) : begun.value === undefined ? (
          <>
            {secret}
            <Button onClick={() => void begin()}>{t('Set up')}</Button>
          </>
        ) : (
          <>
            <img class="qr" alt={t('QR code for the app')} src={`data:image/svg+xml;base64,${btoa(begun.value.qr)}`} />
            <p>
              {t('Scan it with an authenticator app, or enter this key:')} <code>{begun.value.secret}</code>
            </p>
            {oneTime}
            <Button kind="main" onClick={() => void confirmCode()}>
              {t('Confirm')}
            </Button>
          </>
        )}
      </div>
    </Card>
  )
}

interface Session {
  readonly id: string
  readonly address: string
  readonly via: string
  readonly createdAt: string
  readonly isCurrent: boolean
}

const end = (path: string) => attempt(async () => (await ask('DELETE', path, { body: {} })).message).then(changed)

function Sessions() {
  const { data, problem } = useRead<readonly Session[]>('/localUsers/me/sessions')
  return (
    <Card title={t('Sessions')}>
      <Rows of={data} problem={problem}>
        {({ id, address, via, createdAt, isCurrent }) => (
          <>
            <span class="code">{address}</span> <span class="hint">{`${via} · ${moment(createdAt)}`}</span>{' '}
            {isCurrent ? (
              <Badge tone="info">{t('current')}</Badge>
            ) : (
              <span class="row-actions">
                <Button kind="quiet" onClick={() => void end(`/localUsers/me/sessions/${id}`)}>
                  {t('End')}
                </Button>
              </span>
            )}
          </>
        )}
      </Rows>
    </Card>
  )
}

interface Token {
  readonly id: string
  readonly name: string
  readonly expiresAt: string | null
}

function Tokens({ onCreate }: { readonly onCreate: () => void }) {
  const { data, problem } = useRead<readonly Token[]>('/localUsers/me/tokens')
  return (
    <Card
      title={t('API tokens')}
      more={
        <Button kind="quiet" icon="plus" onClick={onCreate}>
          {t('New token')}
        </Button>
      }
    >
      <Rows of={data} problem={problem} empty={<Empty title={t('No tokens yet.')} />}>
        {({ id, name, expiresAt }) => (
          <>
            <bdi>{name}</bdi>{' '}
            <span class="hint">
              {expiresAt === null ? t('does not expire') : t('until {day}', { day: day(expiresAt) })}
            </span>{' '}
            <span class="row-actions">
              <Button
                kind="quiet"
                icon="trash"
                aria-label={t('Delete {name}', { name })}
                onClick={() => {
                  if (confirm(t('Delete {name}? Programs that use it are refused immediately.', { name })))
                    void end(`/localUsers/me/tokens/${id}`)
                }}
              />
            </span>
          </>
        )}
      </Rows>
    </Card>
  )
}

interface Person {
  readonly id: string
  readonly email: string
  readonly disabled?: boolean
}

/** Shown to users who may see it. */
function People({ onEdit }: { readonly onEdit: (editing: Editing) => void }) {
  const users = useRecords<Person>('/localUsers/users')
  const roles = useRecords<{ readonly id: string; readonly name: string }>('/rbac/roles')
  if (!may('GET /localUsers/users')) return null
  return (
    <Card
      title={t('Users and roles')}
      more={
        <>
          <Button
            kind="quiet"
            icon="plus"
            needs="POST /localUsers/users"
            onClick={() =>
              onEdit({
                title: t('New user'),
                create: 'localUsers.create',
                begin: { disabled: false },
                first: ['email', 'password', 'firstname', 'lastname'],
              })
            }
          >
            {t('User')}
          </Button>
          <Button
            kind="quiet"
            icon="plus"
            needs="POST /rbac/roles"
            onClick={() => onEdit({ title: t('New role'), create: 'roles.create' })}
          >
            {t('Role')}
          </Button>
        </>
      }
    >
      <Rows of={users.records} problem={users.problem}>
        {({ id, email, disabled }) => (
          <>
            <button
              type="button"
              class="link"
              onClick={() => onEdit({ title: email, create: '', update: 'localUsers.update', id })}
            >
              {email}
            </button>{' '}
            {disabled === true ? <Badge tone="idle">{t('off')}</Badge> : null}
          </>
        )}
      </Rows>
      {roles.isHidden === true ? null : (
        <Answered of={roles.records} problem={roles.problem}>
          {(all) => (
            <ul class="chips">
              {all.map(({ id, name }) => (
                <li key={id}>
                  <button
                    type="button"
                    class="chip"
                    onClick={() => onEdit({ title: name, create: '', update: 'roles.update', id })}
                  >
                    {name}
                  </button>
                </li>
              ))}
            </ul>
          )}
        </Answered>
      )}
    </Card>
  )
}
