/** The client of orval that has no library beneath it. */
const made = { target: './orval.ts', client: 'fetch', mode: 'single' }
export default { fulcrum: { input: './openapi.json', output: made } }
