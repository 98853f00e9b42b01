import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { ask, read } from '../core/api.ts'
import { changed } from '../core/live.ts'
import { useRead } from '../core/records.ts'
import { may } from '../core/rights.ts'
import { saveFile } from '../core/save-file.ts'
import { t } from '../core/text.ts'
import { Rows } from './answered.tsx'
import { Badge, Button, Card, Empty, When } from './basic.tsx'
import { useDoing } from './doing.ts'
import { FormProblems } from './form-problems.tsx'
import { type Backup, RestoreBackup } from './restore-backup.tsx'
import { attempt, say } from './toast.tsx'

interface Backups {
  readonly uploads: readonly Backup[]
  readonly auto: readonly Backup[]
}

const MIB = 1024 * 1024
const MIB_MAX = 64
/** There may be many, and usually one of the latest is wanted. */
const AUTOMATIC_SHOWN = 5

/** Backup files: creating, uploading and restoring them. */
export function BackupsCard() {
  const restored = useSignal<Backup | undefined>(undefined)
  const { isBusy, refusal, run } = useDoing()
  const upload = (file: File) =>
    run(async () => {
      // Larger files would be read only to be refused.
      if (file.size > MIB_MAX * MIB) throw new Error(t('A backup can have at most {size} MiB.', { size: MIB_MAX }))
      if (file.size === 0) throw new Error(t('The file is empty.'))
      const { message } = await ask('POST', '/backup/upload', { body: { backup: await file.text() } })
      say(message)
      await changed()
    })
  return (
    <Card
      title={t('Backups')}
      more={
        <>
          <Picker isBusy={isBusy.value} onPick={(file) => void upload(file)} />
          <Button icon="save" needs="GET /backup" onClick={() => void attempt(saveBackup)}>
            {t('Back up')}
          </Button>
        </>
      }
    >
      <FormProblems error={refusal.value?.message} errors={refusal.value?.errors ?? []} />
      {may('GET /backup/list') ? <List onRestore={(one) => (restored.value = one)} /> : null}
      {restored.value === undefined ? null : (
        <RestoreBackup backup={restored.value} onClose={() => (restored.value = undefined)} />
      )}
    </Card>
  )
}

/** Saves the file as the API sends it, including private keys. */
async function saveBackup(): Promise<string> {
  const backup = await read<unknown>('/backup')
  const url = URL.createObjectURL(new Blob([JSON.stringify(backup)], { type: 'application/json' }))
  saveFile(`fulcrum-${new Date().toISOString().slice(0, 10)}.json`, url)
  URL.revokeObjectURL(url)
  return t('Saved. The file contains private keys: keep it where nobody else can read it.')
}

function Picker({ isBusy, onPick }: { readonly isBusy: boolean; readonly onPick: (file: File) => void }) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <Button
        kind="quiet"
        icon="plus"
        needs="POST /backup/upload"
        isBusy={isBusy}
        onClick={() => input.current?.click()}
      >
        {t('Upload a file')}
      </Button>
      <input
        ref={input}
        type="file"
        accept=".json,application/json"
        hidden
        onChange={({ currentTarget }) => {
          const [file] = currentTarget.files ?? []
          if (file !== undefined) onPick(file)
          // So that the same file can be picked again.
          currentTarget.value = ''
        }}
      />
    </>
  )
}

/** `DD/MM/YYYY HH:MM:SS +0000` */
const momentOf = (told: string): string => told.replace(/^(\d\d)\/(\d\d)\/(\d{4}) (\S+).*$/, '$3-$2-$1T$4Z')

function List({ onRestore }: { readonly onRestore: (backup: Backup) => void }) {
  const { data, problem } = useRead<Backups>('/backup/list')
  const isWhole = useSignal(false)
  const hidden = isWhole.value ? 0 : (data?.auto.length ?? 0) - AUTOMATIC_SHOWN
  const listed = data && [
    ...data.uploads.map((one) => ({ ...one, id: one.file, isUpload: true })),
    ...data.auto
      .slice(0, isWhole.value ? undefined : AUTOMATIC_SHOWN)
      .map((one) => ({ ...one, id: one.file, isUpload: false })),
  ]
  async function remove(file: string) {
    if (!confirm(t('Delete {name}? The file is deleted immediately.', { name: file }))) return
    await attempt(async () => (await ask('DELETE', `/backup/${file}`, { body: {} })).message)
    await changed()
  }
  return (
    <>
      <Rows of={listed} problem={problem} empty={<Empty title={t('No backups yet.')} />}>
        {({ isUpload, ...one }) => (
          <>
            <span class="lead">
              <When at={momentOf(one.dateTime)} />{' '}
              <Badge tone={isUpload ? 'info' : 'idle'}>{isUpload ? t('uploaded') : t('automatic')}</Badge>
              <div class="hint code">{one.file}</div>
              <div class="hint">
                {t('of {names}', { names: one.nodes.map(({ hostname, id }) => hostname || id).join(', ') })}
              </div>
            </span>
            <span class="row-actions">
              <Button
                kind="quiet"
                needs="POST /backup/restore"
                aria-label={t('Restore {name}', { name: one.file })}
                onClick={() => onRestore(one)}
              >
                {t('Restore')}
              </Button>
              {isUpload ? (
                <Button
                  kind="quiet"
                  icon="trash"
                  needs="DELETE /backup/{filename}"
                  aria-label={t('Delete {name}', { name: one.file })}
                  onClick={() => void remove(one.file)}
                />
              ) : null}
            </span>
          </>
        )}
      </Rows>
      {hidden > 0 ? (
        <Button kind="quiet" onClick={() => (isWhole.value = true)}>
          {t('{count} more', { count: hidden })}
        </Button>
      ) : null}
    </>
  )
}
