import { effect, signal, untracked } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { Button } from './basic.tsx'
import { ask } from '../core/api.ts'
import { changed } from '../core/live.ts'
import { rightsChanged } from '../core/rights.ts'
import { whenForgotten } from '../core/session.ts'
import { t } from '../core/text.ts'
import { problemIn } from './doing.ts'

interface Toast {
  readonly id: number
  readonly tone: 'good' | 'bad'
  readonly text: string
}

const SHOWN_MS = 6_000
const AGAIN_MS = 1_000
const toasts = signal<readonly Toast[]>([])
let next = 1

const remove = (id: number): void => {
  toasts.value = toasts.value.filter((one) => one.id !== id)
}

/** Shows an outcome; an error stays until it is closed. */
export function say(text: string, tone: Toast['tone'] = 'good'): void {
  const id = next++
  toasts.value = [...toasts.value.slice(-3), { id, tone, text }]
  if (tone === 'good') setTimeout(() => fade(id), SHOWN_MS)
}

/**
 * Waits until no dialog is open: removing a message would move everything below it, under the pointer of a user who is
 * about to click.
 */
function fade(id: number): void {
  if (dialogs.peek().length === 0) remove(id)
  else setTimeout(() => fade(id), AGAIN_MS)
}

export const sayProblem = (error: unknown): void => say(problemIn(error), 'bad')

whenForgotten(() => (toasts.value = []))

effect(() => {
  if (rightsChanged.value > 0) untracked(() => say(t('Your permissions have changed.')))
})

/** Runs `work`, and shows its outcome. Resolves with whether it succeeded. */
export async function attempt(work: () => Promise<string | undefined>): Promise<boolean> {
  try {
    const text = await work()
    if (text !== undefined) say(text)
    return true
  } catch (error) {
    sayProblem(error)
    return false
  }
}

/** Asks first, and then stages the deletion. Resolves with whether it is staged. */
export async function removeRecord(path: string, name: string): Promise<boolean> {
  if (!confirm(t('Delete {name}? It is deleted by the next apply.', { name }))) return false
  const isDone = await attempt(async () => (await ask('DELETE', path, { body: {} })).message)
  await changed()
  return isDone
}

/** Open dialogs; only the last one can be reached. */
const dialogs = signal<readonly object[]>([])

const Shown = ({ isHere }: { readonly isHere: boolean }) => (
  <div class="toasts" role="status" aria-live="polite">
    {isHere
      ? toasts.value.map(({ id, tone, text }) => (
          <div key={id} class={`toast ${tone}`}>
            <span>{text}</span>
            <Button kind="quiet" icon="close" aria-label={t('Close')} onClick={() => remove(id)} />
          </div>
        ))
      : null}
  </div>
)

/** Messages on the page, while no dialog is open. */
export const Toasts = () => <Shown isHere={dialogs.value.length === 0} />

/** Messages in the dialog that contains it. */
export function ToastsOfDialog() {
  const own = useRef({})
  useEffect(() => {
    dialogs.value = [...dialogs.peek(), own.current]
    return () => (dialogs.value = dialogs.peek().filter((one) => one !== own.current))
  }, [])
  return <Shown isHere={dialogs.value.at(-1) === own.current} />
}
