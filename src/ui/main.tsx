import 'uplot/dist/uPlot.min.css'
import './style/base.css'
import './style/shell.css'
import './style/parts.css'
import { render } from 'preact'
import { App } from './app.tsx'
import { ssoEnd } from './core/route.ts'
import { begin } from './core/session.ts'

void begin(ssoEnd)
const place = document.querySelector('#page')
if (place !== null) render(<App />, place)
