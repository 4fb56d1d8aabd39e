from sqlalchemy import BigInteger, Column, Text, create_engine, insert, select
from sqlalchemy.orm import Session, declarative_base
import snowfence

Base = declarative_base()
ids = snowfence.Generator("http://127.0.0.1:8080")  # leases its node at the first ID


class Order(Base):
    __tablename__ = "orders"
    id = Column(BigInteger, primary_key=True, autoincrement=False, default=lambda: next(ids))
    note = Column(Text)


engine = create_engine("sqlite://")
Base.metadata.create_all(engine)
with Session(engine) as session:
    one = Order(note="one")
    session.add(one)
    session.flush()
    session.execute(insert(Order.__table__), [{"note": f"{n}"} for n in range(1000)])
    print(one.id, len(session.execute(select(Order.id)).all()))
ids.close()
