package simulate

func (s *sim) twins(p *process) {}
