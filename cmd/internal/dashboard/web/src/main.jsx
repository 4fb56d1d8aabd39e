import { render } from 'preact'
import { App } from './app.jsx'
import 'uplot/dist/uPlot.min.css'
import './style.css'

render(<App />, document.getElementById('app'))
