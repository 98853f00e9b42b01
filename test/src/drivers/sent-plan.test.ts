import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads'
import t from 'tap'
import type { Step } from '../../../src/drivers/driver.ts'
import { receivedPlan, type SentPlan, sentPlan } from '../../../src/drivers/sent-plan.ts'

const common = { why: 'why', timeout_ms: 1 } as const
const check = (content: string): Step => ({ ...common, kind: 'check', path: '/a', content, mode: 0o600, argv: ['/b'] })
const replace = (content: string): Step => ({
  ...common,
  kind: 'replaceFile',
  path: '/a',
  content,
  mode: 0o600,
  checked: true,
})

/** Returns the plan as the other thread receives it. */
function passed(plan: SentPlan): SentPlan {
  const { port1, port2 } = new MessageChannel()
  port1.postMessage(plan)
  const { message } = receiveMessageOnPort(port2) as { readonly message: SentPlan }
  port1.close()
  return message
}

t.test('steps arrive unchanged, whatever their length and script', async (test) => {
  const texts = ['', 'short', 'x'.repeat(300_000), 'ä'.repeat(300_000), 'a😀'.repeat(1_000_000), '😀'.repeat(999_999)]
  for (const text of texts) {
    const steps = [check(text), replace('another'), replace(text)]
    const plan = await sentPlan(steps)
    test.strictSame(receivedPlan(passed(plan)), steps, `${text.length}`)
    test.equal(plan.long.length, text.length > 262_144 ? 1 : 0, 'once')
  }
})

t.test('half a character does not damage the text after it', async (test) => {
  for (const odd of ['\ud800', '\udc00', '\ud800\ud800', '\ud800😀', '😀\udc00'])
    for (const before of [524_285, 524_286, 524_287, 524_288]) {
      const content = `${'x'.repeat(before)}${odd}tail`
      const [step] = receivedPlan(passed(await sentPlan([replace(content)])))
      test.equal(step !== undefined && 'content' in step && step.content, Buffer.from(content).toString(), `${before}`)
    }
})

t.test('the event loop runs while a long text is copied into shared memory, and the message is short', async (test) => {
  const text = 'server a 192.0.2.1:80\n'.repeat(1_000_000)
  let turns = 0
  const count = () => {
    turns += 1
    if (turns > 0) setImmediate(count).unref()
  }
  setImmediate(count)
  const plan = await sentPlan([check(text), replace(text)])
  test.ok(turns > 5, `${turns} turns`)
  turns = Number.NEGATIVE_INFINITY
  test.ok(JSON.stringify(plan.steps).length < 1_000)
  test.equal(plan.long[0]?.bytes.buffer instanceof SharedArrayBuffer, true)
})
