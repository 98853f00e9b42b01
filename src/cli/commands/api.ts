import type { Command } from 'commander'
import { collect, type Common, optionsOf, readText, type Run } from '../command.ts'
import { Refusal } from '../connection.ts'
import { Failure } from '../failure.ts'

interface ApiOptions extends Common {
  readonly body?: string
  readonly header?: readonly string[]
}

const METHODS: readonly string[] = ['GET', 'POST', 'PUT', 'DELETE']

/** Adds the command for every operation of the API, for those without a command of their own. */
export function addApi(program: Command, run: Run): void {
  program
    .command('api')
    .description('send any API request and print the response')
    .argument('<method>', 'GET, POST, PUT or DELETE (default: GET)')
    .argument('[path]', 'for example /services/pending?render=true')
    .option('-b, --body <json>', 'JSON or YAML; @FILE reads a file, - standard input')
    .option('-H, --header <line>', 'for example "If-Match: \\"3\\"" (repeatable)', collect)
    .addHelpText('after', '\nExample: fulcrum api PUT /services/apply -b "comment: a change"')
    .action((first: string, second: string | undefined, _options: unknown, command: Command) =>
      api(run, second === undefined ? ['GET', first] : [first, second], optionsOf<ApiOptions>(command)),
    )
}

async function api(
  run: Run,
  [method, path]: readonly [string, string],
  { body, header = [], ...common }: ApiOptions,
): Promise<void> {
  const wanted = method.toUpperCase()
  if (!METHODS.includes(wanted)) throw new Failure(`${method} is not a method: use ${METHODS.join(', ')}`)
  if (!path.startsWith('/')) throw new Failure(`${path} is not a path: it has to begin with /`)
  const sent = {
    headers: Object.fromEntries(header.map(headerOf)),
    ...(body === undefined ? {} : { body: await bodyOf(run, body) }),
  }
  const asked = run.connect(common).ask(wanted, path.replace(/^\/api\/v1(?=\/)/, ''), sent)
  const { text } = await asked.catch((error: unknown) => {
    throw error instanceof Refusal ? error.inItsWords : error
  })
  run.terminal.data(text.endsWith('\n') ? text : `${indented(text)}\n`)
}

function headerOf(line: string): readonly [string, string] {
  const at = line.indexOf(':')
  if (at <= 0) throw new Failure(`${line} is not a header: use "Name: value"`)
  return [line.slice(0, at).trim().toLowerCase(), line.slice(at + 1).trim()]
}

async function bodyOf(run: Run, given: string): Promise<unknown> {
  const text =
    given === '-' ? await run.terminal.input('the body') : given.startsWith('@') ? readText(given.slice(1)) : given
  const { parse } = await import('yaml')
  try {
    return parse(text)
  } catch (error) {
    throw new Failure(`the body is neither JSON nor YAML: ${error instanceof Error ? error.message : ''}`)
  }
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
