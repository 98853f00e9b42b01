import type { Argument, Command, Option } from 'commander'
import { inserted, lineIn } from '../bash-line.ts'
import type { Common, Run } from '../command.ts'
import { Failure } from '../failure.ts'
import { printable } from '../output.ts'
import { KINDS, namesOf } from './records.ts'

/**
 * Completion in shells: each asks this program for the possible next words, and looks for files if told so. Bash does
 * that whenever it gets no words.
 */

const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `_fulcrum() {
  mapfile -t COMPREPLY < <(fulcrum __complete_bash -- "\${COMP_LINE:0:COMP_POINT}" "$2" 2>/dev/null)
}
complete -o default -F _fulcrum fulcrum
`,
  zsh: `#compdef fulcrum
_fulcrum() {
  local told
  local -a found
  told=$(fulcrum __complete -- "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2>/dev/null) || { _files; return }
  found=(\${(f)told})
  compadd -M 'm:{[:lower:][:upper:]}={[:upper:][:lower:]}' -a found
}
compdef _fulcrum fulcrum
`,
  fish: `function __fulcrum_complete
  set -l typed (commandline -ct)
  set -l last (string unescape -- $typed; or echo)
  fulcrum __complete -- (commandline -opc)[2..-1] "$last" 2>/dev/null
  or complete -C "'' $typed"
end
complete -c fulcrum -f -a '(__fulcrum_complete)'
`,
}

/** Names that stand for a file in the help: of arguments, and of values of options. */
const FILES: ReadonlySet<string> = new Set(['file', 'files', 'plan'])
const FILE = '<file>'

export function addCompletion(program: Command, run: Run): void {
  program
    .command('completion')
    .description('print a shell completion script: source <(fulcrum completion bash)')
    .argument('<shell>', Object.keys(SCRIPTS).join(', '))
    .action((shell: string) => {
      const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined
      if (script === undefined) throw new Failure(`${shell}: use ${Object.keys(SCRIPTS).join(', ')}`)
      run.terminal.out(script)
    })
  const tell = (found: readonly string[]) => run.terminal.out(found.map((one) => `${one}\n`).join(''))
  program
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .action(async (words: readonly string[]) => {
      const found = await candidates(program, run, words)
      if (found === 'files') run.exitCode = 1
      else tell(found)
    })
  // Bash inserts words as they are; other shells quote them.
  program
    .command('__complete_bash', { hidden: true })
    .argument('<line>')
    .argument('<end>')
    .action(async (line: string, end: string) => {
      const [, ...words] = lineIn(line)?.words ?? []
      const found = words.length === 0 ? [] : await candidates(program, run, words)
      if (found !== 'files') tell(inserted(found, line, end))
    })
}

/** Possible words, or files. */
type Candidates = readonly string[] | 'files'

/** Returns the possible replacements of the last word. */
async function candidates(program: Command, run: Run, words: readonly string[]): Promise<Candidates> {
  const last = words.at(-1)?.toLowerCase() ?? ''
  const found = await possible(program, run, words).catch(() => [])
  if (found === 'files') return found
  // Shells print them unfiltered, so unprintable ones are left out.
  return found.filter((one) => one.toLowerCase().startsWith(last) && one === printable(one))
}

async function possible(program: Command, run: Run, words: readonly string[]): Promise<Candidates> {
  const { command, given, option, common } = place(program, words.slice(0, -1))
  if (option?.long === '--context') return Object.keys(run.contexts.all().contexts)
  if (option !== undefined) return option.flags.endsWith(FILE) ? 'files' : []
  if (words.at(-1)?.startsWith('-') === true)
    return [...command.options, ...program.options].map(({ long }) => long ?? '')
  const commands = command.commands.map((one) => one.name()).filter((name) => !name.startsWith('_'))
  if (commands.length > 0) return commands
  const last = command.registeredArguments.at(-1)
  const argument = command.registeredArguments.at(given.length) ?? (last?.variadic === true ? last : undefined)
  if (argument === undefined) return []
  return FILES.has(argument.name()) ? 'files' : await valuesOf(argument, given, run, common)
}

interface Place {
  readonly command: Command
  /** The arguments so far. */
  readonly given: readonly string[]
  /** The option whose value comes next. */
  readonly option: Option | undefined
  /** Options that select the daemon. */
  readonly common: Common
}

function place(program: Command, words: readonly string[]): Place {
  let [command, option, given]: [Command, Option | undefined, string[]] = [program, undefined, []]
  let common: Common = {}
  for (const word of words) {
    if (option !== undefined) {
      if (option.long === '--context') common = { context: word }
      option = undefined
    } else if (word.startsWith('-')) {
      const known = [...command.options, ...program.options].find(({ long, short }) => long === word || short === word)
      option = known !== undefined && (known.required || known.optional) ? known : undefined
    } else {
      const inside: Command | undefined = command.commands.find(
        (one) => one.name() === word || one.aliases().includes(word),
      )
      if (inside === undefined) given.push(word)
      else [command, given] = [inside, []]
    }
  }
  return { command, given, option, common }
}

/** Returns the present names for an argument. */
async function valuesOf(
  argument: Argument,
  given: readonly string[],
  run: Run,
  common: Common,
): Promise<readonly string[]> {
  const named = (kind: string) => namesOf(run.connect(common), kind)
  if (argument.name() === 'kind') return Object.keys(KINDS)
  if (argument.name() === 'shell') return Object.keys(SCRIPTS)
  if (argument.name() === 'server') return named('servers')
  if (argument.name() === 'user') return named('users')
  if (argument.name() === 'role') return named('roles')
  if (argument.name() === 'service') return [...(await named('services')), ...(await named('backends'))]
  if (argument.name() === 'record' && given[0] !== undefined) return named(given[0])
  return argument.name() === 'context' ? Object.keys(run.contexts.all().contexts) : []
}
